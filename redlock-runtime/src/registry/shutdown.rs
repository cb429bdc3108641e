//! The end of a registry.
#![doc = include_str!("shutdown.md")]

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use once_cell::sync::OnceCell;
use parking_lot::Mutex;
use redlock_core::NodeSet;
use redlock_core::env::Moment;
use redlock_core::error::Brief;
use tokio::sync::Notify;

use crate::error::LockErrorKind;

use super::held::HeldEntry;
use super::shutdown_report::ShutdownReport;
use super::{Registry, RegistryShared};

/// Sends the releases of all of them, and waits for them together.
async fn revoked(leases: &[HeldEntry]) {
    let mut waiting: Vec<_> = leases
        .iter()
        .map(|entry| Box::pin(entry.lease.revoke_and_release()))
        .collect();
    std::future::poll_fn(|context| {
        waiting.retain_mut(|revoking| revoking.as_mut().poll(context).is_pending());
        if waiting.is_empty() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

/// The locks by resource and function: a program that holds thousands of them has them all in
/// `/held`.
fn listed(entries: &[HeldEntry]) -> String {
    const MOST: usize = 8;
    let named = entries
        .iter()
        .take(MOST)
        .map(|entry| format!("`{}` by {}", entry.lease.resource(), entry.site));
    let mut named: Vec<String> = named.collect();
    if entries.len() > MOST {
        named.push(format!("and {} more", entries.len() - MOST));
    }
    named.join(", ")
}

/// How much of the deadline is kept for the nodes, however long bodies take to end.
pub(crate) const CONFIRMING: Duration = Duration::from_millis(200);

/// A shutdown's settings and progress.
pub(crate) struct Shutdown {
    grace: Duration,
    deadline: Duration,
    /// When it began.
    began: OnceCell<Moment>,
    /// The owner dropped the registry, and did not ask for a shutdown.
    is_dropped: AtomicBool,
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
            is_dropped: AtomicBool::new(false),
            begun: Notify::new(),
            report: OnceCell::new(),
            done: Notify::new(),
            blocked: Mutex::default(),
        }
    }

    /// Why calls are refused once the shutdown has begun.
    pub(crate) fn refusal(&self) -> LockErrorKind {
        if self.is_dropped.load(Ordering::Acquire) {
            LockErrorKind::Dropped
        } else {
            LockErrorKind::ShuttingDown
        }
    }

    fn finish(&self, report: ShutdownReport) {
        // Only the one task that `begin_shutdown` starts gets here.
        let _ = self.report.set(report);
        self.done.notify_waiters();
        let blocked = std::mem::take(&mut *self.blocked.lock());
        for waiting in blocked {
            // It may have given up.
            let _ = waiting.send(());
        }
    }
}

/// The task of a shutdown. At its end, for any reason, all waiting callers get the report as it is.
struct ShutdownTask {
    registry: Registry,
    report: ShutdownReport,
}

impl Drop for ShutdownTask {
    fn drop(&mut self) {
        let report = std::mem::take(&mut self.report);
        self.registry.shared.shutdown.finish(report);
    }
}

impl Registry {
    /// Refuses new acquisitions from here on and runs the shutdown on the library's own thread,
    /// so that nothing that the caller drops can stop it half-way. Only the first call counts.
    pub(crate) fn begin_shutdown(&self) {
        let RegistryShared {
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
        log!(
            info,
            held = held.entries().len(),
            "redlock shuts down: no new locks; bodies have {} to finish{}",
            Brief(shutdown.grace),
            if shutdown.is_dropped.load(Ordering::Acquire) {
                "; what `init` returned was dropped (`let _ =` drops it at once)"
            } else {
                ""
            },
        );
        let mut ending = ShutdownTask {
            registry: self.clone(),
            report: ShutdownReport::default(),
        };
        environment.spawner.spawn(Box::pin(async move {
            ending.report = ending.registry.run_shutdown(began).await;
            ending.report.log();
        }));
    }

    /// The same for a registry that its owner drops. If that was the program's mistake, calls and
    /// the log say so.
    pub(crate) fn begin_shutdown_at_drop(&self) {
        let RegistryShared { held, shutdown, .. } = &*self.shared;
        if shutdown.began.get().is_none() {
            // Before the gate closes, so that no refused call gives another reason.
            shutdown.is_dropped.store(true, Ordering::Release);
            let entries = held.entries();
            if !entries.is_empty() {
                log!(
                    warn,
                    held = entries.len(),
                    "dropped without `shutdown`, with locks held: {}; if the process ends before \
                     they are released, their keys stay until the ttl; await \
                     `redlock.shutdown()` at the end of `main`",
                    listed(&entries),
                );
            }
        }
        self.begin_shutdown();
    }

    /// Runs `work`; once a shutdown has begun, not beyond its deadline.
    pub(crate) async fn until_deadline<W: Future>(&self, work: W) -> Option<W::Output> {
        let shutdown = &self.shared.shutdown;
        let out_of_time = async {
            let beginning = shutdown.begun.notified();
            if shutdown.began.get().is_none() {
                beginning.await;
            }
            let clock = &self.shared.environment.clock;
            let since = shutdown.began.get().copied();
            let since = since.unwrap_or_else(|| clock.now());
            clock
                .sleep_until(since.saturating_add(shutdown.deadline))
                .await;
        };
        tokio::select! {
            biased;
            output = work => Some(output),
            () = out_of_time => None,
        }
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
        shutdown.blocked.lock().push(done);
        if shutdown.report.get().is_none() {
            // The margin covers the library's own thread being late.
            let _ = waiting.recv_timeout(shutdown.deadline.saturating_add(Duration::from_secs(1)));
        }
    }

    async fn run_shutdown(&self, began: Moment) -> ShutdownReport {
        let held = &self.shared.held;
        let clock = &*self.shared.environment.clock;
        let deadline = began.saturating_add(self.shared.shutdown.deadline);
        let grace = began
            .saturating_add(self.shared.shutdown.grace)
            .min(deadline);

        self.within(grace, held.emptied()).await;
        let mut report = ShutdownReport::default();
        report.finished = held.take_departed();

        // What is left did not finish. Nothing tells when the holder of a bare lease is done;
        // `lost` tells the holder. Bodies are cancelled, and end at their next await.
        let bare = held.revoke_bare();
        // Bodies first: they need not wait for what nodes make of the bare leases' releases.
        for entry in held.entries().iter().filter(|entry| entry.has_body) {
            entry.lease.revoke();
        }
        report.released = bare.iter().map(HeldEntry::describe).collect();
        self.within(deadline, revoked(&bare)).await;
        // The rest of the time is for the nodes to confirm what was sent to them.
        self.within(deadline.saturating_sub(CONFIRMING), held.bodies_gone())
            .await;
        // A cancelled body may have left a lease.
        let late = held.revoke_bare();
        report.released.extend(late.iter().map(HeldEntry::describe));
        self.within(deadline, revoked(&late)).await;

        report.cancelled = held.take_departed();
        report.cancelled.retain(|lease| lease.has_body);
        let stuck = held.entries().into_iter().filter(|entry| entry.has_body);
        report.stuck = stuck.map(|entry| entry.describe()).collect();
        report.under_way = held.under_way();
        for entry in &report.stuck {
            log!(
                error,
                resource = %entry.resource,
                "the body did not yield before the shutdown's deadline; its key stays until the ttl",
            );
        }
        // A lease that was merely dropped has its release still on the way.
        let left = deadline.saturating_since(clock.now());
        let pools = self.shared.pools.by_name.values();
        let nodes: NodeSet = pools.map(|pool| Arc::clone(&pool.node)).collect();
        report.unconfirmed = self.shared.client.flush(&nodes, left).await;
        report
    }

    async fn within(&self, until: Moment, work: impl Future) {
        tokio::select! {
            biased;
            _ = work => {}
            () = self.shared.environment.clock.sleep_until(until) => {}
        }
    }
}
