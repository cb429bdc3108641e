//! Shows locks to the outside: spans and events through `tracing`, figures through `metrics`.
//!
//! The guide lists all names in `reference/metrics.md` and `reference/events.md`. Telemetry without an observer costs nearly nothing: a span
//! without a subscriber is a few words on the stack, and [`figure!`] expands to nothing without the feature `metrics`.

mod acquiring;
mod holding;
// Only the testing kit makes journals.
#[cfg_attr(not(feature = "testing"), allow(dead_code, unreachable_pub))]
pub(crate) mod journal;
#[cfg(feature = "metrics")]
pub(crate) mod metrics;

use tracing::Span;

pub(crate) use acquiring::{AcquireArgs, AcquireTelemetry, record_early_refusal};
pub(crate) use holding::HoldTelemetry;

use crate::error::{LockError, LockErrorKind};

/// Returns the name of an error's kind, for labels and spans.
pub(crate) fn kind_of(error: &LockError) -> &'static str {
    match error.kind() {
        LockErrorKind::Contended(_) => "contended",
        LockErrorKind::AlreadyRun(_) => "already_run",
        LockErrorKind::Unavailable(_) => "unavailable",
        LockErrorKind::Lost(_) => "lost",
        LockErrorKind::ShuttingDown => "shutting_down",
        LockErrorKind::NotInitialized => "not_initialized",
        LockErrorKind::UnknownPool { .. } => "unknown_pool",
        LockErrorKind::Invalid(_) => "invalid",
    }
}

/// Marks a span as failed.
fn mark_failed(span: &Span, error_type: &'static str) {
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
}

/// Records a figure with the present recorder: `figure!(counter TERMS { site: name } increment(1))`.
///
/// A panic of the recorder is caught, because drops record figures, too.
#[cfg(feature = "metrics")]
macro_rules! figure {
    ($kind:ident $name:ident { $($label:ident: $value:expr),* } $change:ident($by:expr)) => {{
        use $crate::telemetry::metrics::{RECORDER, describe};
        redlock_core::internal::caught(RECORDER, || {
            ::metrics::$kind!(describe::$name, $(stringify!($label) => $value),*).$change($by);
        });
    }};
}
#[cfg(not(feature = "metrics"))]
macro_rules! figure {
    ($kind:ident $name:ident { $($label:ident: $value:expr),* } $change:ident($by:expr)) => {{
        // The closure is never called, but makes the values count as used.
        let _ = || {
            $(let _ = &$value;)*
            let _ = &$by;
        };
    }};
}
pub(crate) use figure;

/// Adds one to a gauge until the value is dropped: `count_in_gauge!(LEADING { site: name })`.
macro_rules! count_in_gauge {
    ($name:ident { $($label:ident: $value:expr),* }) => {{
        $(let _ = &$value;)*
        $crate::telemetry::GaugeCount {
            #[cfg(feature = "metrics")]
            gauge: {
                use $crate::telemetry::metrics::{RECORDER, describe};
                redlock_core::internal::caught(RECORDER, || {
                    let gauge = ::metrics::gauge!(describe::$name, $(stringify!($label) => $value),*);
                    gauge.increment(1);
                    gauge
                })
            },
        }
    }};
}
pub(crate) use count_in_gauge;

/// An increment of a gauge. Dropping the value takes the increment back, in the same recorder.
pub(crate) struct GaugeCount {
    /// `None` if the recorder panicked.
    #[cfg(feature = "metrics")]
    pub(crate) gauge: Option<::metrics::Gauge>,
}

#[cfg(feature = "metrics")]
impl Drop for GaugeCount {
    fn drop(&mut self) {
        if let Some(gauge) = &self.gauge {
            redlock_core::internal::caught(metrics::RECORDER, || gauge.decrement(1));
        }
    }
}
