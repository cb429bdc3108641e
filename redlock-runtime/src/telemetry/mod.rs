//! What a lock tells the outside world of itself: spans and events through `tracing`, figures through
//! `metrics`. README.md has the list of names.
//!
//! Nothing here is computed unless somebody subscribes: a span that nobody wants is a few words on the
//! stack, and without the feature `metrics` its half of this module is empty.

mod acquiring;
#[cfg(feature = "metrics")]
mod metrics;
#[cfg(not(feature = "metrics"))]
#[path = "metrics/off.rs"]
mod metrics;
mod outcome;
mod span;
mod throttle;

pub(crate) use acquiring::{Acquiring, refused};
pub(crate) use metrics::{Holding, Metrics, answers_of, count_swallowed, sample_nodes};
pub(crate) use span::{HoldSpan, name_of, within};
pub(crate) use throttle::Throttle;

/// What one registry counts.
#[derive(Default)]
pub(crate) struct Telemetry {
    pub(crate) metrics: Metrics,
    /// Of refusals because the nodes do not answer: with those down, every call is refused.
    unavailable: Throttle,
}
