//! A holder: takes the lock as its plan says, works, writes to the store, and leaves.

use std::future::poll_fn;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::parameters::{LockOptions, Mode};
use redlock_runtime::{Lock, LockError, election, lock};
use tokio::time::{Instant, sleep, timeout};

use crate::annotated::{fenced, one_of_several, reading, renewed, writing};
use crate::claimed::{Kind as LockKind, Share};
use crate::event::{Event, Kind, Longer};
use crate::journal::{Grip, Journal, Visit};
use crate::plan::{Cut, Ending, PERMITS, Patience, Plan, Stall, Style};
use crate::store;

/// How often a body looks at its deadline.
const LOOK: Duration = Duration::from_millis(100);

/// What all holders of a worker share.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) journal: Arc<Journal>,
    pub(crate) store: PathBuf,
    pub(crate) is_sabotaged: bool,
}

/// One holder, and what its caller may want to know after it has cut it off.
#[derive(Clone)]
pub(crate) struct Holder {
    pub(crate) place: Arc<Place>,
    pub(crate) plan: Arc<Plan>,
    /// It has been in its body.
    has_entered: Arc<AtomicBool>,
}

/// The payload of panics that are part of a plan.
pub(crate) struct Planned;

impl Holder {
    pub(crate) fn new(place: &Arc<Place>, plan: Plan) -> Self {
        Self {
            place: Arc::clone(place),
            plan: Arc::new(plan),
            has_entered: Arc::default(),
        }
    }

    /// To be run as a task of its own, because some panic.
    pub(crate) async fn perform(self) {
        let Some(Cut::Drop(after)) = self.plan.cut else {
            return self.acquire_and_work().await;
        };
        if timeout(after, self.acquire_and_work()).await.is_err() {
            self.was_cut();
        }
    }

    /// Counts a caller that went away.
    pub(crate) fn was_cut(&self) {
        let kind = if self.has_entered.load(Ordering::Relaxed) {
            Kind::CutHolding
        } else {
            Kind::CutWaiting
        };
        self.place.journal.write(&Event::Count(kind));
    }

    async fn acquire_and_work(&self) {
        let plan = &*self.plan;
        if self.place.is_sabotaged {
            return self.work(Grip::pretended(plan.ttl, plan.is_fenced)).await;
        }
        let outcome = match plan.stall {
            Some(Stall::Acquisition(stall)) => stalled(self.under_lock(), stall).await,
            _ => self.under_lock().await,
        };
        if let Err(error) = outcome {
            self.failed(&error);
        }
    }

    async fn under_lock(&self) -> Result<(), LockError> {
        if self.plan.kind == LockKind::Office {
            return self.in_office().await;
        }
        match self.plan.style {
            Style::Bare => self.bare().await,
            Style::Run => {
                let body = |lease| self.work(Grip::Lease(lease));
                self.lock().acquire().await?.run(body).await
            }
            Style::Attribute => self.annotated().await,
        }
    }

    async fn bare(&self) -> Result<(), LockError> {
        let lease = self.lock().acquire().await?;
        self.work(Grip::Lease(lease.handle())).await;
        match self.plan.ending {
            Ending::Release => lease.release().await,
            Ending::Drop | Ending::Panic => drop(lease),
        }
        Ok(())
    }

    /// One term of an election, for a candidate that waits no longer than its plan says.
    async fn in_office(&self) -> Result<(), LockError> {
        let plan = &*self.plan;
        let options = LockOptions::new()
            .retry_delay(plan.retry_delay)
            .min_validity(plan.min_validity);
        let mut office = election(&plan.claimed.names[0])
            .ttl(plan.ttl)
            .value(self.place.store.display().to_string())
            .options(options);
        if let Some(held) = plan.max_hold {
            office = office.max_term(held);
        }
        let standing = office.run(async |term| {
            self.count(Kind::Elected);
            self.work(Grip::Lease(term.lease().clone())).await;
            office.resign();
        });
        let mut standing = pin!(standing);
        let wait = match plan.patience {
            Patience::Retries(count) => plan.retry_delay * count,
            Patience::Wait(budget) => budget,
        };
        if let Ok(ended) = timeout(wait, &mut standing).await {
            return ended;
        }
        if self.has_entered.load(Ordering::Relaxed) {
            // In office it stays for its term.
            return standing.await;
        }
        self.count(Kind::NotElected);
        Ok(())
    }

    fn lock(&self) -> Lock {
        let plan = &*self.plan;
        let mut lock = lock(&plan.claimed.names)
            .ttl(plan.ttl)
            .fencing(plan.is_fenced)
            .min_validity(plan.min_validity)
            .on_lost(plan.on_lost)
            .retry_delay(plan.retry_delay);
        lock = match plan.patience {
            Patience::Retries(count) => lock.retry_count(count),
            Patience::Wait(budget) => lock.wait(budget),
        };
        if let Some(held) = plan.max_hold {
            lock = lock.max_hold(held);
        }
        match plan.kind {
            LockKind::Permit => lock.permits(PERMITS),
            LockKind::Reader => lock.mode(Mode::Read),
            LockKind::Writer => lock.mode(Mode::Write),
            LockKind::Plain | LockKind::Sets | LockKind::Office => lock,
        }
    }

    async fn annotated(&self) -> Result<(), LockError> {
        let (names, ttl) = (&self.plan.claimed.names[..], self.plan.ttl);
        let retries = match self.plan.patience {
            Patience::Retries(count) => count,
            Patience::Wait(_) => 1,
        };
        match (self.plan.kind, self.plan.max_hold) {
            (LockKind::Permit, _) => one_of_several(self, names, ttl, retries).await,
            (LockKind::Reader, _) => reading(self, names, ttl, retries).await,
            (LockKind::Writer, _) => writing(self, names, ttl, retries).await,
            (_, None) => fenced(self, names, ttl, retries).await,
            (_, Some(held)) => renewed(self, names, ttl, held).await,
        }
    }

    /// The body. Whatever cuts it off, it is dropped before the lease is released.
    pub(crate) async fn work(&self, grip: Grip) {
        let plan = &*self.plan;
        let own = grip.own(&plan.claimed);
        let mut visit = Visit::enter(&self.place.journal, &own, grip.clone());
        self.has_entered.store(true, Ordering::Relaxed);
        self.entered();
        // What a store does for a holder that reads first: the token is known before the work.
        self.write(&visit, &grip).await;

        let began = Instant::now();
        let half = began + plan.hold / 2;
        self.spend(&mut visit, half).await;
        if let (Some(ttl), Grip::Lease(lease)) = (plan.extension, &grip) {
            let outcome = match plan.stall {
                Some(Stall::Extension(stall)) => stalled(lease.extend(ttl), stall).await,
                _ => lease.extend(ttl).await,
            };
            match outcome {
                Ok(()) => visit.look(Longer::Extended),
                Err(_) => self.count(Kind::NotExtended),
            }
        }
        self.spend(&mut visit, began + plan.hold).await;
        // Without a look at the lease: it is for the store to refuse this where it comes too late.
        self.write(&visit, &grip).await;
        if plan.ending == Ending::Panic {
            self.count(Kind::Panicked);
            // Unlike `panic!`, without a message on stderr.
            std::panic::resume_unwind(Box::new(Planned));
        }
    }

    /// Counts what was acquired.
    fn entered(&self) {
        if self.plan.kind == LockKind::Writer {
            self.count(Kind::Wrote);
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
            visit.look(Longer::Renewed);
        }
    }

    async fn write(&self, visit: &Visit, grip: &Grip) {
        let Some(token) = grip.token() else { return };
        let reads = self.plan.claimed.share == Share::Reads;
        for name in &grip.own(&self.plan.claimed).names {
            match store::write(&self.place.store, name, token, reads).await {
                Ok(Ok(())) => {}
                Ok(Err(highest)) => visit.was_refused(highest),
                Err(error) => self.broken(format!("the store cannot be reached: {error}")),
            }
        }
    }

    fn failed(&self, error: &LockError) {
        match error.kind() {
            LockErrorKind::Contended(_) => self.count(Kind::Contended),
            LockErrorKind::Unavailable(_) => self.count(Kind::Unavailable),
            // The body has written so when it left.
            LockErrorKind::Lost(_) => {}
            _ => self.broken(format!("{error} {:?}", self.plan)),
        }
    }

    fn count(&self, kind: Kind) {
        self.place.journal.write(&Event::Count(kind));
    }

    pub(crate) fn broken(&self, text: String) {
        self.place.journal.write(&Event::Broken(text));
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
