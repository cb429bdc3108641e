//! What a lock tells the outside world of itself: spans and events through `tracing`, figures through
//! `metrics`. The guide's `reference/metrics.md` has the list of names.
//!
//! Nothing is computed here without a subscriber. A span without a subscriber is a few words on the
//! stack. Without the feature `metrics`, the metrics half of this module is empty.

mod acquiring;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(not(feature = "metrics"))]
#[path = "metrics/off.rs"]
mod metrics;
mod outcome;
mod span;

use std::sync::Arc;

use redlock_core::Environment;
use redlock_core::env::{Clock, Throttle};

use crate::health::PoolHealth;

pub(crate) use acquiring::{Acquiring, refused};
use metrics::Metrics;
pub(crate) use metrics::{Holding, answers_of, count_swallowed};
pub(crate) use span::{HoldSpan, name_of};

/// What one registry counts.
pub(crate) struct Telemetry {
    metrics: Arc<Metrics>,
    clock: Arc<dyn Clock>,
    /// Of refusals because the nodes do not answer: with those down, every call is refused.
    unavailable: Throttle,
}

impl Telemetry {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            metrics: Arc::default(),
            clock,
            unavailable: Throttle::default(),
        }
    }

    /// Reports the nodes' figures to `metrics`, until `read` says that there are no nodes left.
    pub(crate) fn sample_nodes(
        &self,
        environment: &Environment,
        read: impl Fn() -> Option<Vec<PoolHealth>> + Send + 'static,
    ) {
        metrics::sample_nodes(&self.metrics, environment, read);
    }
}
