//! What a lock tells the outside world of itself: spans and events through `tracing`, figures through
//! `metrics`. The guide's `reference/metrics.md` has the list of names.
//!
//! Nothing is computed here without a subscriber: a span without one is a few words on the stack. Without
//! the feature `metrics`, the metrics half of this module is empty.

mod acquiring;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(not(feature = "metrics"))]
#[path = "metrics/off.rs"]
mod metrics;
mod outcome;
mod span;
mod throttles;

use std::sync::Arc;

use redlock_core::Environment;
use redlock_core::env::Throttles;

use crate::health::PoolHealth;
use crate::site::Site;

pub(crate) use acquiring::{Acquiring, refused};
use metrics::Metrics;
pub(crate) use metrics::{Holding, InOffice, answers_of, count_swallowed};
pub(crate) use outcome::kind_of;
pub(crate) use span::{HoldSpan, name_of};
pub(crate) use throttles::about;

/// What one registry counts.
pub(crate) struct Telemetry {
    metrics: Arc<Metrics>,
    pub(crate) throttles: Throttles,
}

impl Telemetry {
    pub(crate) fn new(environment: &Environment) -> Self {
        Self {
            metrics: Arc::default(),
            throttles: throttles::throttles(environment),
        }
    }

    /// A candidate of an election begins to stand.
    pub(crate) fn stands(&self, site: &'static Site) {
        self.metrics.stands(site);
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
