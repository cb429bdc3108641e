//! A holder: takes the lock as its plan says, works, writes to the store, and leaves.

use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::parameters::{Kind as LockKind, LockOptions};
use redlock_runtime::{LeaseHandle, LockBuilder, LockError, election, lock};
use tokio::time::{Instant, sleep, timeout};

use crate::annotated::{fenced, one_of_several, reading, renewed, writing};
use crate::clock::{Moment, now};
use crate::event::Event;
use crate::journal::{Journal, Visit};
use crate::plan::{Ending, Kind, PERMITS, Plan, Stall, Style};
use crate::store;

/// How often a body looks at its deadline.
const LOOK: Duration = Duration::from_millis(100);

/// One holder.
pub(crate) struct Holder {
    journal: Arc<Journal>,
    store: Arc<PathBuf>,
    pub(crate) plan: Plan,
    came: Moment,
    /// It has been in its body.
    has_entered: AtomicBool,
}

/// The payload of panics that are part of a plan.
pub(crate) struct Planned;

impl Holder {
    pub(crate) fn new(journal: &Arc<Journal>, store: &Arc<PathBuf>, plan: Plan) -> Self {
        Self {
            journal: Arc::clone(journal),
            store: Arc::clone(store),
            plan,
            came: now(),
            has_entered: AtomicBool::new(false),
        }
    }

    /// To be run as a task of its own, because some panic.
    pub(crate) async fn perform(self) {
        let Some(after) = self.plan.cut else {
            return self.acquire_and_work().await;
        };
        if timeout(after, self.acquire_and_work()).await.is_err() {
            self.journal.count(if self.has_entered() {
                "bodies cut off"
            } else {
                "acquisitions cut off"
            });
        }
    }

    fn has_entered(&self) -> bool {
        self.has_entered.load(Ordering::Relaxed)
    }

    async fn acquire_and_work(&self) {
        let outcome = match self.plan.stall {
            Some(Stall::Acquisition(stall)) => stalled(self.under_lock(), stall).await,
            _ => self.under_lock().await,
        };
        let Err(error) = outcome else { return };
        match error.kind() {
            LockErrorKind::Contended(_) => self.journal.count("refused: contended"),
            LockErrorKind::Unavailable(_) => self.journal.count("refused: unavailable"),
            // The body has written so when it left.
            LockErrorKind::Lost(_) => {}
            _ => self.broken(format!("{error} {:?}", self.plan)),
        }
    }

    async fn under_lock(&self) -> Result<(), LockError> {
        if self.plan.kind == Kind::Office {
            return self.in_office().await;
        }
        match self.plan.style {
            Style::Bare => self.bare().await,
            Style::Run => {
                let body = |lease| self.work(lease);
                self.lock().acquire().await?.run(body).await
            }
            Style::Attribute => self.annotated().await,
        }
    }

    async fn bare(&self) -> Result<(), LockError> {
        let lease = self.lock().acquire().await?;
        self.work(lease.handle()).await;
        match self.plan.ending {
            Ending::Release => lease.release().await,
            Ending::Drop | Ending::Panic => drop(lease),
        }
        Ok(())
    }

    /// One term of an election, for a candidate that waits no longer than its plan says.
    async fn in_office(&self) -> Result<(), LockError> {
        let plan = &self.plan;
        let options = LockOptions::new()
            .retry_delay(plan.retry_delay)
            .min_validity(plan.min_validity);
        let mut office = election(&plan.locked[0])
            .ttl(plan.ttl)
            .value(self.store.display().to_string())
            .options(options);
        if let Some(held) = plan.max_hold {
            office = office.max_term(held);
        }
        let standing = office.run(async |term| {
            self.work(LeaseHandle::clone(term.lease())).await;
            office.resign();
        });
        let mut standing = pin!(standing);
        let wait = plan.wait.unwrap_or(plan.retry_delay * plan.retries);
        if let Ok(ended) = timeout(wait, &mut standing).await {
            return ended;
        }
        if self.has_entered() {
            // In office it stays for its term.
            return standing.await;
        }
        self.journal.count("candidates that left");
        Ok(())
    }

    fn lock(&self) -> LockBuilder {
        let plan = &self.plan;
        let mut lock = lock(&plan.locked)
            .ttl(plan.ttl)
            .options(LockOptions::new().fencing(plan.is_fenced))
            .min_validity(plan.min_validity)
            .on_lost(plan.on_lost)
            .retry_delay(plan.retry_delay);
        lock = match plan.wait {
            None => lock.retry_count(plan.retries),
            Some(budget) => lock.wait(budget),
        };
        if let Some(held) = plan.max_hold {
            lock = lock.max_hold(held);
        }
        match plan.kind {
            Kind::Permit => lock.permits(PERMITS),
            Kind::Reader => lock.kind(LockKind::Read),
            Kind::Writer => lock.kind(LockKind::Write),
            Kind::Plain | Kind::Sets | Kind::Office => lock,
        }
    }

    async fn annotated(&self) -> Result<(), LockError> {
        match (self.plan.kind, self.plan.max_hold) {
            (Kind::Permit, _) => one_of_several(self).await,
            (Kind::Reader, _) => reading(self).await,
            (Kind::Writer, _) => writing(self).await,
            (_, None) => fenced(self).await,
            (_, Some(_)) => renewed(self).await,
        }
    }

    /// The body. Whatever cuts it off, it is dropped before the lease is released.
    pub(crate) async fn work(&self, lease: LeaseHandle) {
        let plan = &self.plan;
        let mut visit = Visit::enter(&self.journal, plan, self.came, lease.clone());
        self.has_entered.store(true, Ordering::Relaxed);
        self.journal.count(format!("acquisitions: {:?}", plan.kind));
        // What a store does for a holder that reads first: the token is known before the work.
        self.write(&visit).await;

        let began = Instant::now();
        let half = began + plan.hold / 2;
        self.spend(&mut visit, half).await;
        if let Some(ttl) = plan.extension {
            let outcome = match plan.stall {
                Some(Stall::Extension(stall)) => stalled(lease.extend(ttl), stall).await,
                _ => lease.extend(ttl).await,
            };
            match outcome {
                Ok(()) => visit.look("extensions"),
                Err(_) => self.journal.count("extensions that failed"),
            }
        }
        self.spend(&mut visit, began + plan.hold).await;
        // Without a look at the lease: it is for the store to refuse this if it comes too late.
        self.write(&visit).await;
        if plan.ending == Ending::Panic {
            self.journal.count("bodies that panicked");
            // Unlike `panic!`, without a message on stderr.
            std::panic::resume_unwind(Box::new(Planned));
        }
    }

    async fn spend(&self, visit: &mut Visit, until: Instant) {
        if self.plan.blocks {
            std::thread::sleep(until.saturating_duration_since(Instant::now()));
            return;
        }
        loop {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            sleep(left.min(LOOK)).await;
            visit.look("renewals seen");
        }
    }

    async fn write(&self, visit: &Visit) {
        let Some(token) = visit.held.token else {
            return;
        };
        for name in &visit.held.names {
            match store::write(&self.store, name, token, self.plan.is_reader()).await {
                Ok(None) => self.journal.count("writes accepted by the store"),
                Ok(Some(highest)) => {
                    self.journal.count("late writes refused by the store");
                    visit.was_refused(highest);
                }
                Err(error) => self.broken(format!("the store cannot be reached: {error}")),
            }
        }
    }

    fn broken(&self, text: String) {
        self.journal.write(&Event::Broken(text));
    }
}

/// Polls `work` once, which sends what it has to send, and then not until `stall` has passed: a caller
/// that is held up between request and answer, while the nodes count on.
async fn stalled<F: Future>(work: F, stall: Duration) -> F::Output {
    let mut work = pin!(work);
    let first = poll_fn(|context| Poll::Ready(work.as_mut().poll(context)));
    if let Poll::Ready(output) = first.await {
        return output;
    }
    sleep(stall).await;
    work.await
}
