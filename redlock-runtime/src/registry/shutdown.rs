//! The end of a registry.
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

    /// Returns the report, once the shutdown that has begun is over.
    pub(crate) async fn report(&self) -> ShutdownReport {
        self.report.wait().await.clone()
    }
}

/// Refuses new acquisitions from here on and runs the shutdown on the library's own thread, so that nothing that the
/// caller drops can stop it half-way. Only the first call counts.
pub(crate) fn begin(registry: &Registry) {
    begin_with_reason(registry, "");
}

/// Begins the shutdown, with the reason for the log.
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

/// Begins the shutdown of a registry that its owner drops. If that was the program's mistake, the log says so.
pub(crate) fn begin_at_drop(registry: &Registry) {
    let shutdown = &registry.shared.shutdown;
    let held = registry.held();
    if !shutdown.began.initialized() && !held.is_empty() {
        log_caught!(warn!(
            target: targets::SHUTDOWN, held = held.len(),
            "dropped without `shutdown`, with locks held: {}; if the process ends before \
             they are released, their keys stay until the ttl; await \
             `redlock.shutdown()` at the end of `main`",
            listed(&held),
        ));
    }
    let reason = "; what `init` returned was dropped (`let _ =` drops it at once)";
    begin_with_reason(registry, reason);
}

/// Waits for the report in a thread without a runtime.
pub(crate) fn block_on_report(registry: &Registry) {
    let (done, waiting) = mpsc::channel();
    // The margin covers the library's own thread being late.
    let patience = registry.shared.shutdown.deadline;
    let patience = patience.saturating_add(Duration::from_secs(1));
    let spawner = Arc::clone(&registry.shared.environment.spawner);
    let registry = registry.clone();
    spawner.spawn(Box::pin(async move {
        registry.shared.shutdown.report.wait().await;
        // The thread may have given up.
        let _ = done.send(());
    }));
    let _ = waiting.recv_timeout(patience);
}

/// Runs `work`; once a shutdown has begun, not beyond its deadline.
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

/// The task of a shutdown. At its end, for any reason, all waiting callers get the report as it is.
struct ShutdownTask {
    registry: Registry,
    report: ShutdownReport,
}

impl Drop for ShutdownTask {
    fn drop(&mut self) {
        let report = std::mem::take(&mut self.report);
        // There is one task, and so one report.
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

        // The leases that are left did not finish. Nothing tells when the holder of a bare lease is done, so `lost`
        // tells the holder. Bodies are cancelled, and end at their next await.
        report.released = release_bare(registry);
        tokio::select! {
            biased;
            () = held.cancel_bodies() => {}
            // The rest of the time is for the nodes to confirm what was sent to them.
            () = clock.sleep_until(deadline.saturating_sub(CONFIRMING)) => {}
        }
        // A cancelled body may have left a lease.
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

/// Sends the releases of the leases that have no body.
fn release_bare(registry: &Registry) -> Vec<HeldLease> {
    let bare = registry.shared.held.revoke_bare().into_iter();
    let released = bare.map(|entry| {
        let described = entry.describe();
        // The first poll sends the release. The nodes are waited for in the end.
        let mut release = pin!(revoke_and_release(&entry.lease));
        let _ = release
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()));
        described
    });
    released.collect()
}
