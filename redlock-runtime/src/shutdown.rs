//! The end of a registry.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Mutex;
use std::task::Poll;
use std::time::Duration;

use once_cell::sync::OnceCell;
use redlock_core::{Brief, Moment};
use tokio::sync::Notify;

use crate::held::{Entry, HeldLease};
use crate::registry::{Registry, Shared};

/// Sends the releases of all of them, and waits for them together.
async fn surrendered(leases: &[Entry]) {
    let mut waiting: Vec<_> = leases
        .iter()
        .map(|entry| Box::pin(entry.lease.surrender()))
        .collect();
    std::future::poll_fn(|context| {
        waiting.retain_mut(|surrender| surrender.as_mut().poll(context).is_pending());
        if waiting.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// How much of the deadline is kept for the nodes, however long bodies take to end.
pub(crate) const CONFIRMING: Duration = Duration::from_millis(200);

/// What a shutdown did.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// What was held when it began and ended by itself during the grace period.
    pub finished: Vec<HeldLease>,
    /// Bodies that were cancelled at the end of the grace period; their locks are released, but for
    /// those that were to be left to their ttl.
    pub cancelled: Vec<HeldLease>,
    /// Leases without a body that were released at the end of the grace period.
    pub released: Vec<HeldLease>,
    /// Bodies that did not yield before the deadline. Their keys stay until the ttl: a lock is
    /// never released under a running body.
    pub stuck: Vec<HeldLease>,
    /// Acquisitions that had begun and did not end before the deadline, because nobody polled
    /// them. What they may have on the nodes stays until the ttl.
    pub under_way: usize,
    /// Pools that did not confirm in time that everything sent to them was served. A node that
    /// cannot be reached frees itself at the ttl.
    pub unconfirmed: Vec<String>,
}

/// `2 finished, 1 cancelled, 0 released, 0 stuck`, and what should not be.
impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} finished, {} cancelled, {} released, {} stuck",
            self.finished.len(),
            self.cancelled.len(),
            self.released.len(),
            self.stuck.len(),
        )?;
        for lease in &self.stuck {
            write!(f, "; `{}` keeps its key until the ttl", lease.resource)?;
        }
        if self.under_way > 0 {
            write!(f, "; {} acquisitions still under way", self.under_way)?;
        }
        if !self.unconfirmed.is_empty() {
            write!(f, "; not confirmed by {}", self.unconfirmed.join(", "))?;
        }
        Ok(())
    }
}

impl ShutdownReport {
    fn log(&self) {
        macro_rules! log_at {
            ($level:ident) => {
                tracing::$level!(
                    finished = self.finished.len(),
                    cancelled = self.cancelled.len(),
                    released = self.released.len(),
                    stuck = self.stuck.len(),
                    under_way = self.under_way,
                    unconfirmed = self.unconfirmed.join(","),
                    "redlock has shut down: {self}",
                )
            };
        }
        // What may be on the nodes until its ttl is worth a look.
        if !self.stuck.is_empty() || self.under_way > 0 {
            log_at!(error);
        } else if !self.unconfirmed.is_empty() {
            log_at!(warn);
        } else {
            log_at!(info);
        }
    }
}

/// A shutdown's settings and progress.
pub(crate) struct Shutdown {
    grace: Duration,
    deadline: Duration,
    /// When it began.
    began: OnceCell<Moment>,
    /// Tells servers that their time is limited from now on.
    begun: Notify,
    report: OnceCell<ShutdownReport>,
    done: Notify,
    /// Wakes a thread that waits in `block_on_shutdown`.
    blocked: Mutex<Vec<std::sync::mpsc::Sender<()>>>,
}

impl Shutdown {
    pub(crate) fn new(grace: Duration, deadline: Duration) -> Self {
        Self {
            grace,
            deadline,
            began: OnceCell::new(),
            begun: Notify::new(),
            report: OnceCell::new(),
            done: Notify::new(),
            blocked: Mutex::default(),
        }
    }

    fn finish(&self, report: ShutdownReport) {
        // Only the one task that `begin_shutdown` starts gets here.
        let _ = self.report.set(report);
        self.done.notify_waiters();
        let blocked = self
            .blocked
            .lock()
            .map(|mut blocked| std::mem::take(&mut *blocked));
        for waiting in blocked.unwrap_or_default() {
            // It may have given up.
            let _ = waiting.send(());
        }
    }
}

impl Registry {
    /// Refuses new acquisitions from here on and runs the shutdown on the library's own thread,
    /// so that nothing that the caller drops can stop it half-way. Only the first call counts.
    pub(crate) fn begin_shutdown(&self) {
        let Shared {
            held,
            shutdown,
            environment,
            ..
        } = &*self.shared;
        held.close();
        let began = environment.clock.now();
        if shutdown.began.set(began).is_err() {
            return;
        }
        shutdown.begun.notify_waiters();
        tracing::info!(
            held = held.entries().len(),
            "redlock shuts down: no new locks; bodies have {} to finish",
            Brief(shutdown.grace),
        );
        let registry = self.clone();
        environment.spawner.spawn(Box::pin(async move {
            let report = registry.wind_down(began).await;
            report.log();
            registry.shared.shutdown.finish(report);
        }));
    }

    /// Runs `work`; once a shutdown has begun, not beyond its deadline.
    pub(crate) async fn until_deadline<W: Future>(&self, work: W) -> Option<W::Output> {
        let shutdown = &self.shared.shutdown;
        let mut work = pin!(work);
        let mut out_of_time = pin!(async {
            let begun = shutdown.begun.notified();
            if shutdown.began.get().is_none() {
                begun.await;
            }
            let clock = &self.shared.environment.clock;
            let began = shutdown.began.get().copied();
            let began = began.unwrap_or_else(|| clock.now());
            clock
                .sleep_until(began.saturating_add(shutdown.deadline))
                .await;
        });
        std::future::poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Ready(output) => Poll::Ready(Some(output)),
            Poll::Pending => out_of_time.as_mut().poll(context).map(|()| None),
        })
        .await
    }

    /// The report, once the shutdown that has begun is over.
    pub(crate) async fn shutdown_report(&self) -> ShutdownReport {
        let shutdown = &self.shared.shutdown;
        loop {
            let done = shutdown.done.notified();
            if let Some(report) = shutdown.report.get() {
                return report.clone();
            }
            done.await;
        }
    }

    /// The same for a thread without a runtime.
    pub(crate) fn block_on_shutdown(&self) {
        let shutdown = &self.shared.shutdown;
        let (done, waiting) = std::sync::mpsc::channel();
        if let Ok(mut blocked) = shutdown.blocked.lock() {
            blocked.push(done);
        }
        if shutdown.report.get().is_none() {
            // The margin covers the library's own thread being late.
            let _ = waiting.recv_timeout(shutdown.deadline.saturating_add(Duration::from_secs(1)));
        }
    }

    async fn wind_down(&self, began: Moment) -> ShutdownReport {
        let held = &self.shared.held;
        let clock = &*self.shared.environment.clock;
        let deadline = began.saturating_add(self.shared.shutdown.deadline);
        let grace = began
            .saturating_add(self.shared.shutdown.grace)
            .min(deadline);

        self.within(grace, held.emptied()).await;
        let mut report = ShutdownReport::default();
        let departed = held.take_departed().into_iter();
        report.finished = departed.map(|departed| departed.lease).collect();

        // What is left did not finish. Nothing tells when the holder of a bare lease is done;
        // `lost` tells the holder. Bodies are called back, and end at their next await.
        let bare = held.surrender_bare();
        // Bodies first: they need not wait for what nodes make of the bare leases' releases.
        for entry in held.entries().iter().filter(|entry| entry.has_body) {
            entry.lease.revoke();
        }
        report.released = bare.iter().map(Entry::describe).collect();
        self.within(deadline, surrendered(&bare)).await;
        // The rest of the time is for the nodes to confirm what was sent to them.
        self.within(deadline.saturating_sub(CONFIRMING), held.bodies_gone())
            .await;
        // A body that was called back may have left a lease behind.
        let late = held.surrender_bare();
        report.released.extend(late.iter().map(Entry::describe));
        self.within(deadline, surrendered(&late)).await;

        let departed = held.take_departed().into_iter();
        let cancelled = departed.filter(|departed| departed.had_body);
        report.cancelled = cancelled.map(|departed| departed.lease).collect();
        let stuck = held.entries().into_iter().filter(|entry| entry.has_body);
        report.stuck = stuck.map(|entry| entry.describe()).collect();
        report.under_way = held.under_way();
        for entry in &report.stuck {
            tracing::error!(
                resource = %entry.resource,
                "the body did not yield before the shutdown's deadline; its key stays until the ttl",
            );
        }
        // A lease that was merely dropped has its release still on the way.
        let left = deadline.saturating_since(clock.now());
        report.unconfirmed = self.shared.client.flush(&self.nodes(), left).await;
        report
    }

    async fn within(&self, until: Moment, work: impl Future) {
        let mut work = pin!(work);
        let mut timer = self.shared.environment.clock.sleep_until(until);
        std::future::poll_fn(|context| {
            if work.as_mut().poll(context).is_ready() {
                return Poll::Ready(());
            }
            Pin::new(&mut timer).poll(context)
        })
        .await;
    }
}

/// Completes at SIGTERM or SIGINT (elsewhere than on Unix: at Ctrl-C), when this process begins to
/// refuse new locks and to wind the held ones down. Made for `axum::serve(…)
/// .with_graceful_shutdown(redlock_runtime::shutdown_signal())`; hand the server to
/// [`Redlock::shutdown_after`](crate::Redlock::shutdown_after).
///
/// Completes at once where the shutdown has begun already. Several may be awaited at once: one
/// signal is for all of them.
///
/// **A second signal ends the process at once**, with the exit status 128 + the signal's number (143
/// for SIGTERM, 130 for SIGINT); what is still held is logged as an error and stays until its ttl.
/// One that comes less than 100 ms after the first is taken for its echo.
///
/// A signal that comes before the first poll ends the process, as without this; from then on the
/// first one is kept for whoever awaits this next, also where the future is dropped.
///
/// # Cancellation
/// Dropping the future before it completes begins no shutdown.
pub async fn shutdown_signal() {
    // Found now, not when the signal comes: the caller's scope may be gone by then.
    let registry = crate::scope::current();
    if let Some(registry) = &registry
        && registry.shared.held.is_closed()
    {
        return;
    }
    crate::signal::received(registry).await;
}
