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

pub(crate) use acquiring::{Acquiring, refused};
pub(crate) use metrics::{Holding, InOffice, Metrics, answers_of, count_swallowed, sample_nodes};
pub(crate) use outcome::kind_of;
pub(crate) use span::{HoldSpan, name_of};
