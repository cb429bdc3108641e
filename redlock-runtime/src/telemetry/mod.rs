//! What a lock tells the outside world of itself: spans and events through `tracing`, figures through
//! `metrics`. The guide's `reference/metrics.md` has the list of names.
//!
//! Nothing is computed here without a subscriber, but that refused calls are counted by holder for the
//! last minutes: who looks at them comes later. A span without a subscriber is a few words on the
//! stack. Without the feature `metrics`, the metrics half of this module is empty.

mod acquiring;
mod causes;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(not(feature = "metrics"))]
#[path = "metrics/off.rs"]
mod metrics;
mod outcome;
mod refusals;
mod span;

use std::sync::Arc;

use redlock_core::Environment;
use redlock_core::env::Clock;

use crate::health::PoolHealth;

pub(crate) use acquiring::{Acquiring, refused};
pub(crate) use causes::Causes;
use metrics::Metrics;
pub(crate) use metrics::{Holding, answers_of, count_swallowed};
pub use refusals::Refusal;
use refusals::Refusals;
pub(crate) use span::{HoldSpan, name_of};

/// What one registry counts.
pub(crate) struct Telemetry {
    metrics: Arc<Metrics>,
    pub(crate) causes: Arc<Causes>,
    pub(crate) refusals: Refusals,
}

impl Telemetry {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            metrics: Arc::default(),
            causes: Arc::new(Causes::new(Arc::clone(&clock))),
            refusals: Refusals::new(clock),
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
