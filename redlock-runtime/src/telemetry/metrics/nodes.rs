//! The figures of the nodes. Each answer's time is recorded when it arrives; the other figures are
//! read from the nodes at intervals.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use metrics::{Histogram, counter, gauge, histogram};
use redlock_core::Environment;
use redlock_core::env::caught;
use redlock_core::node::ObserveAnswers;

use super::describe::{
    NODE_CLOCK_OFFSET, NODE_CONNECTIONS, NODE_ERRORS, NODE_LATENCY, NODE_NOT_RESTING, NODE_VOTING,
};
use super::per_recorder::PerRecorder;
use super::{Metrics, RECORDER};
use crate::health::PoolHealth;

/// How often: well within the 15 s or more between two looks of a scraper.
const EVERY: Duration = Duration::from_secs(2);

/// A node's answers, by how long they took.
struct Answers {
    pool: String,
    latency: PerRecorder<Histogram>,
}

/// The observer of the answers of the node `pool`.
#[expect(
    clippy::unnecessary_wraps,
    reason = "without the feature there is none"
)]
pub(crate) fn answers_of(pool: &str) -> Option<Arc<dyn ObserveAnswers>> {
    Some(Arc::new(Answers {
        pool: pool.to_owned(),
        latency: PerRecorder::default(),
    }))
}

impl ObserveAnswers for Answers {
    fn answered(&self, after: Duration) {
        let histogram = || histogram!(NODE_LATENCY, "pool" => self.pool.clone());
        self.latency.get(histogram).record(after);
    }
}

impl fmt::Debug for Answers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answers")
            .field("pool", &self.pool)
            .finish_non_exhaustive()
    }
}

/// Reads the nodes' figures every two seconds, on the library's thread, until there are no nodes
/// left.
pub(crate) fn sample_nodes(
    metrics: &Arc<Metrics>,
    environment: &Environment,
    read: impl Fn() -> Option<Vec<PoolHealth>> + Send + 'static,
) {
    let (metrics, clock) = (Arc::clone(metrics), Arc::clone(&environment.clock));
    environment.spawner.spawn(Box::pin(async move {
        while let Some(pools) = read() {
            caught(RECORDER, || {
                metrics.sites();
                pools.iter().for_each(sample);
            });
            clock.sleep_until(clock.now().saturating_add(EVERY)).await;
        }
    }));
}

fn sample(health: &PoolHealth) {
    let name = || health.pool.clone();
    let votes = health.is_voting();
    gauge!(NODE_VOTING, "pool" => name()).set(if votes { 1.0 } else { 0.0 });
    #[expect(clippy::cast_precision_loss, reason = "nobody holds so many")]
    gauge!(NODE_NOT_RESTING, "pool" => name()).set(health.not_resting as f64);
    let node_health = &health.node_health;
    for (kind, count) in node_health.errors.iter() {
        counter!(NODE_ERRORS, "pool" => name(), "error_type" => kind.as_str()).absolute(count);
    }
    counter!(NODE_CONNECTIONS, "pool" => name()).absolute(node_health.connections);
    if let Some(clock) = &node_health.clock {
        #[expect(clippy::cast_precision_loss, reason = "exact up to 285 years")]
        let ahead = clock.ahead_us as f64 / 1e6;
        gauge!(NODE_CLOCK_OFFSET, "pool" => name()).set(ahead);
    }
}
