//! Records the figures of the nodes. The time of an answer is recorded when the answer arrives. All other figures are
//! read from the nodes at regular intervals.

use std::sync::Arc;
use std::time::Duration;

use metrics::{counter, gauge, histogram};
use redlock_core::Environment;
use redlock_core::internal::caught;
use redlock_core::node::{NodeErrorKind, ObserveAnswers};

use super::describe::{
    NODE_CLOCK_OFFSET, NODE_CONNECTIONS, NODE_ERRORS, NODE_LATENCY, NODE_VOTING, NODE_WITHOUT_GRANT,
};
use super::{RECORDER, describe};
use crate::health::PoolHealth;

/// The time between two samples, well below the 15 s or more between two scrapes.
const SAMPLE_INTERVAL: Duration = Duration::from_secs(2);

/// Records how long each answer of a node took.
#[derive(Debug)]
pub(crate) struct LatencyRecorder {
    pub(crate) pool: Arc<str>,
}

impl ObserveAnswers for LatencyRecorder {
    fn record_answer(&self, after: Duration) {
        histogram!(NODE_LATENCY, "pool" => Arc::clone(&self.pool)).record(after);
    }
}

/// Samples the figures of the nodes on the library's thread, until `read` returns `None`.
pub(crate) fn sample_nodes(
    environment: &Environment,
    read: impl Fn() -> Option<Vec<PoolHealth>> + Send + 'static,
) {
    let clock = Arc::clone(&environment.clock);
    environment.spawner.spawn(Box::pin(async move {
        while let Some(pools) = read() {
            caught(RECORDER, || {
                describe();
                pools.iter().for_each(sample);
            });
            clock
                .sleep_until(clock.now().saturating_add(SAMPLE_INTERVAL))
                .await;
        }
    }));
}

fn sample(health: &PoolHealth) {
    let name = || health.pool.clone();
    let votes = health.is_voting();
    gauge!(NODE_VOTING, "pool" => name()).set(if votes { 1.0 } else { 0.0 });
    #[expect(
        clippy::cast_precision_loss,
        reason = "a process holds fewer than 2^52 leases"
    )]
    gauge!(NODE_WITHOUT_GRANT, "pool" => name()).set(health.leases_without_grant as f64);
    let node_health = &health.node_health;
    for kind in NodeErrorKind::ALL {
        let count = node_health.errors.get(kind).copied().unwrap_or(0);
        counter!(NODE_ERRORS, "pool" => name(), "error_type" => kind.as_str()).absolute(count);
    }
    counter!(NODE_CONNECTIONS, "pool" => name()).absolute(node_health.connections);
    if let Some(clock) = &node_health.clock {
        #[expect(clippy::cast_precision_loss, reason = "exact up to 285 years")]
        let ahead = clock.ahead_us as f64 / 1e6;
        gauge!(NODE_CLOCK_OFFSET, "pool" => name()).set(ahead);
    }
}
