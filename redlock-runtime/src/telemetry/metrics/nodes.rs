//! What is counted of the nodes. How long their answers take comes one by one; the rest is read from
//! them now and then.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use metrics::{Histogram, counter, gauge, histogram};
use redlock_core::{NodeStatus, ObserveAnswers, caught};

use super::RECORDER;
use super::describe::{
    NODE_CLOCK_OFFSET, NODE_CONNECTIONS, NODE_ERRORS, NODE_LATENCY, NODE_NOT_RESTING, NODE_VOTING,
};
use super::per_recorder::PerRecorder;
use crate::registry::Registry;
use crate::registry::pools::Pool;

/// How often: well within the 15 s or more between two looks of a scraper.
const EVERY: Duration = Duration::from_secs(2);

/// A node's answers, by how long they took.
struct Answers {
    pool: String,
    latency: PerRecorder<Histogram>,
}

/// Who is to be told of the answers of the node `pool`.
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

/// Reads the nodes' figures every two seconds, on the library's thread, for as long as the registry
/// lives.
pub(crate) fn sample_nodes(registry: &Registry) {
    let environment = registry.shared.environment.clone();
    // The nodes live no longer for being looked at.
    let shared = Arc::downgrade(&registry.shared);
    let clock = Arc::clone(&environment.clock);
    environment.spawner.spawn(Box::pin(async move {
        while let Some(shared) = shared.upgrade() {
            caught(RECORDER, || {
                shared.telemetry.metrics.describe();
                let not_resting = shared.held.not_resting();
                for (name, pool) in &shared.pools {
                    sample(name, pool, not_resting.get(name).copied().unwrap_or(0));
                }
            });
            drop(shared);
            clock.sleep_until(clock.now().saturating_add(EVERY)).await;
        }
    }));
}

fn sample(name: &str, pool: &Pool, not_resting: usize) {
    let name = || name.to_owned();
    let votes = matches!(pool.node.status(), NodeStatus::Voting);
    gauge!(NODE_VOTING, "pool" => name()).set(if votes { 1.0 } else { 0.0 });
    #[expect(clippy::cast_precision_loss, reason = "nobody holds so many")]
    gauge!(NODE_NOT_RESTING, "pool" => name()).set(not_resting as f64);
    let vitals = pool.node.vitals();
    for (kind, count) in vitals.errors.iter() {
        counter!(NODE_ERRORS, "pool" => name(), "error_type" => kind.as_str()).absolute(count);
    }
    counter!(NODE_CONNECTIONS, "pool" => name()).absolute(vitals.connections);
    if let Some(clock) = vitals.clock {
        #[expect(clippy::cast_precision_loss, reason = "exact up to 285 years")]
        let ahead = clock.ahead_us as f64 / 1e6;
        gauge!(NODE_CLOCK_OFFSET, "pool" => name()).set(ahead);
    }
}
