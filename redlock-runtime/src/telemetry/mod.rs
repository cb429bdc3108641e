//! What a lock tells the outside world of itself: spans and events through `tracing`, figures through
//! `metrics`. The guide's `reference/metrics.md` has the list of names.
//!
//! Nothing is computed here without a subscriber, except for what is looked at later: the refused calls
//! of the last minutes by holder, the last losses, and the last run of each job. A span without a subscriber is a few words on the
//! stack. Without the feature `metrics`, the metrics half of this module is empty.

mod acquiring;
mod losses;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(not(feature = "metrics"))]
#[path = "metrics/off.rs"]
mod metrics;
mod outcome;
mod refusals;
mod runs;
mod span;
mod throttles;

use std::sync::Arc;

use redlock_core::Environment;
use redlock_core::env::Throttles;

use crate::health::PoolHealth;
use crate::site::Site;

pub(crate) use acquiring::{Acquiring, refused};
pub use losses::Loss;
pub(crate) use losses::Losses;
#[cfg(feature = "inspect")]
pub(crate) use losses::MOST_LOSSES;
use metrics::Metrics;
pub(crate) use metrics::{Holding, InOffice, answers_of, count_swallowed};
pub(crate) use outcome::kind_of;
pub use refusals::Refusal;
use refusals::Refusals;
pub use runs::JobRun;
pub(crate) use runs::Runs;
pub(crate) use span::{HoldSpan, name_of};
pub(crate) use throttles::about;

/// What one registry counts.
pub(crate) struct Telemetry {
    metrics: Arc<Metrics>,
    pub(crate) throttles: Throttles,
    pub(crate) refusals: Refusals,
    pub(crate) losses: Arc<Losses>,
    pub(crate) runs: Arc<Runs>,
}

impl Telemetry {
    /// `owner` is this process as `host/pid`.
    pub(crate) fn new(environment: &Environment, owner: &str) -> Self {
        let clock = || Arc::clone(&environment.clock);
        Self {
            metrics: Arc::default(),
            throttles: throttles::throttles(environment),
            refusals: Refusals::new(clock()),
            losses: Arc::new(Losses::new(clock())),
            runs: Arc::new(Runs::new(clock(), owner.to_owned())),
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
