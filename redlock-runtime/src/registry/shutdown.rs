//! The shutdown of a registry.
#![doc = include_str!("shutdown.md")]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::time::Duration;

use redlock_core::NodeSet;
use redlock_core::env::Moment;
use redlock_core::error::Brief;
use redlock_core::internal::{log_caught, revoke_and_release};
use redlock_core::targets;
use tokio::sync::SetOnce;
use tracing::{info, warn};

use super::held_lease::listed;
use super::shutdown_report::ShutdownReport;
use super::{HeldLease, Registry, RegistryShared};
use crate::config::CONFIRMING;

/// A shutdown's settings and progress.
pub(crate) struct Shutdown {
    grace: Duration,
    deadline: Duration,
    began: SetOnce<Moment>,
    report: SetOnce<ShutdownReport>,
}

impl Shutdown {
    pub(crate) fn new(grace: Duration, deadline: Duration) -> Self {
        Self {
            grace,
            deadline,
            began: SetOnce::new(),
            report: SetOnce::new(),
        }
    }

    /// Waits until a shutdown that has begun is over, and returns its report.
    pub(crate) async fn report(&self) -> ShutdownReport {
        self.report.wait().await.clone()
    }
}

/// Begins the shutdown of `registry`: new acquisitions are refused from now on. The library's own thread runs the
/// shutdown, so nothing that the caller drops stops it half-way. Only the first call counts.
pub(crate) fn begin(registry: &Registry) {
    begin_with_reason(registry, "");
}

/// Begins the shutdown, and adds `reason` to the log line about it.
fn begin_with_reason(registry: &Registry, reason: &str) {
    let RegistryShared {
        held,
        shutdown,
        environment,
        ..
    } = &*registry.shared;
    held.close();
    let began = environment.clock.now();
    if shutdown.began.set(began).is_err() {
        return;
    }
    log_caught!(info!(
        target: targets::SHUTDOWN, held = held.count(),
        "redlock shuts down: no new locks; bodies have {} to finish{reason}",
        Brief(shutdown.grace),
    ));
    let mut task = ShutdownTask {
        registry: registry.clone(),
        report: ShutdownReport::default(),
    };
    environment.spawner.spawn(Box::pin(async move {
        task.run(began).await;
        task.report.log();
    }));
}

/// Begins the shutdown of a registry that its owner drops. Logs a warning if locks are held and `shutdown` was not
/// called.
pub(crate) fn begin_at_drop(registry: &Registry) {
    let shutdown = &registry.shared.shutdown;
    let held = registry.held();
    if !shutdown.began.initialized() && !held.is_empty() {
        log_caught!(warn!(
            target: targets::SHUTDOWN, held = held.len(),
            "`Redlock` was dropped without `shutdown`, with locks held: {}; if the process ends before \
             they are released, their keys stay until the ttl; await \
             `redlock.shutdown()` at the end of `main`",
            listed(&held),
        ));
    }
    let reason = "; the `Redlock` from `init` was dropped (`let _ =` drops it at once)";
    begin_with_reason(registry, reason);
}

/// Blocks a thread without a runtime until the report is ready. Gives up after the deadline and one more second.
pub(crate) fn block_on_report(registry: &Registry) {
    let (done, waiting) = mpsc::channel();
    // The extra second allows for a delay of the library's own thread.
    let patience = registry.shared.shutdown.deadline;
    let patience = patience.saturating_add(Duration::from_secs(1));
    let spawner = Arc::clone(&registry.shared.environment.spawner);
    let registry = registry.clone();
    spawner.spawn(Box::pin(async move {
        registry.shared.shutdown.report.wait().await;
        // The receiver is gone if the thread has given up.
        let _ = done.send(());
    }));
    let _ = waiting.recv_timeout(patience);
}

/// Runs `work`, but stops at the deadline of a shutdown and returns `None`. Before a shutdown begins, there is no
/// limit.
pub(crate) async fn until_deadline<W: Future>(registry: &Registry, work: W) -> Option<W::Output> {
    let shutdown = &registry.shared.shutdown;
    let out_of_time = async {
        let began = shutdown.began.wait().await;
        let deadline = began.saturating_add(shutdown.deadline);
        let clock = &registry.shared.environment.clock;
        clock.sleep_until(deadline).await;
    };
    tokio::select! {
        biased;
        output = work => Some(output),
        () = out_of_time => None,
    }
}

/// The task that runs a shutdown. The drop of the task gives the report to all waiting callers. After a panic, the
/// report has what was done until then.
struct ShutdownTask {
    registry: Registry,
    report: ShutdownReport,
}

impl Drop for ShutdownTask {
    fn drop(&mut self) {
        let report = std::mem::take(&mut self.report);
        // The report is set once, because there is one task.
        let _ = self.registry.shared.shutdown.report.set(report);
    }
}

impl ShutdownTask {
    async fn run(&mut self, began: Moment) {
        let Self { registry, report } = self;
        let RegistryShared { held, shutdown, .. } = &*registry.shared;
        let clock = &*registry.shared.environment.clock;
        let deadline = began.saturating_add(shutdown.deadline);
        let grace = began.saturating_add(shutdown.grace).min(deadline);

        tokio::select! {
            biased;
            () = held.wait_until_empty() => {}
            () = clock.sleep_until(grace) => {}
        }
        report.finished = held.take_departed();

        // The holders of the remaining leases did not finish in time. A bare lease is released, because nothing shows
        // when its holder is done; `lost` informs the holder. Bodies are cancelled, and end at their next await.
        report.released = release_bare(registry);
        tokio::select! {
            biased;
            () = held.cancel_bodies() => {}
            // Leave the rest of the time to the nodes, which have to confirm their calls.
            () = clock.sleep_until(deadline.saturating_sub(CONFIRMING)) => {}
        }
        // A cancelled body may have left a bare lease.
        report.released.extend(release_bare(registry));
        report.cancelled = held.take_departed();
        report.cancelled.retain(|lease| lease.has_body);
        report.stuck = registry.held();
        report.stuck.retain(|lease| lease.has_body);
        report.under_way = held.under_way();
        let pools = registry.shared.pools.by_name.values();
        let nodes: NodeSet = pools.map(|pool| Arc::clone(&pool.node)).collect();
        let left = deadline.saturating_since(clock.now());
        report.unconfirmed = registry.shared.client.flush(&nodes, left).await;
    }
}

/// Sends the releases of the leases without a body, and returns these leases.
fn release_bare(registry: &Registry) -> Vec<HeldLease> {
    let bare = registry.shared.held.revoke_bare().into_iter();
    let released = bare.map(|entry| {
        let described = entry.describe();
        // The first poll sends the release. `flush` waits for the nodes later.
        let mut release = pin!(revoke_and_release(&entry.lease));
        let _ = release
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        described
    });
    released.collect()
}
