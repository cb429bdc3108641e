//! What a lock tells the outside world of itself: spans and events through `tracing`, figures through
//! `metrics`. The guide's `reference/metrics.md` has the list of names.
//!
//! Nothing is computed here without a subscriber: a span without one is a few words on the stack. Without
//! the feature `metrics`, [`figure!`] is nothing.

mod acquiring;
mod holding;
mod journal;
#[cfg(feature = "metrics")]
pub(crate) mod metrics;

use tracing::Span;
use tracing::field::{DisplayValue, display};

pub(crate) use acquiring::{Acquiring, refused};
pub(crate) use holding::Holding;
pub(crate) use journal::{Journal, JournalLine};

use crate::error::{LockError, LockErrorKind};
use crate::site::Site;

/// The kind of an error as a word.
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

/// A site's name, as logs show it.
pub(crate) fn name_of(site: &'static Site) -> DisplayValue<&'static str> {
    display(site.site_name())
}

/// Marks a span as failed.
fn failed(span: &Span, error_type: &'static str) {
    span.record("error.type", error_type);
    span.record("otel.status_code", "ERROR");
}

/// Tells the present recorder a figure: `figure!(counter TERMS { site: name } increment(1))`. A panic of the recorder is
/// caught, because drops tell figures.
#[cfg(feature = "metrics")]
macro_rules! figure {
    ($kind:ident $name:ident { $($label:ident: $value:expr),* } $change:ident($by:expr)) => {{
        use $crate::telemetry::metrics::{RECORDER, describe};
        redlock_core::panics::caught(RECORDER, || {
            ::metrics::$kind!(describe::$name, $(stringify!($label) => $value),*).$change($by);
        });
    }};
}
#[cfg(not(feature = "metrics"))]
macro_rules! figure {
    ($kind:ident $name:ident { $($label:ident: $value:expr),* } $change:ident($by:expr)) => {{
        // Never called: the values count as used.
        let _ = || {
            $(let _ = &$value;)*
            let _ = &$by;
        };
    }};
}
pub(crate) use figure;

/// Counts something in a gauge until it is dropped: `gauged!(LEADING { site: name })`.
macro_rules! gauged {
    ($name:ident { $($label:ident: $value:expr),* }) => {{
        $(let _ = &$value;)*
        $crate::telemetry::Gauged {
            #[cfg(feature = "metrics")]
            gauge: {
                use $crate::telemetry::metrics::{RECORDER, describe};
                redlock_core::panics::caught(RECORDER, || {
                    let gauge = ::metrics::gauge!(describe::$name, $(stringify!($label) => $value),*);
                    gauge.increment(1);
                    gauge
                })
            },
        }
    }};
}
pub(crate) use gauged;

/// What a gauge counts, in the recorder that was there when it began.
pub(crate) struct Gauged {
    /// `None` if the recorder panicked.
    #[cfg(feature = "metrics")]
    pub(crate) gauge: Option<::metrics::Gauge>,
}

#[cfg(feature = "metrics")]
impl Drop for Gauged {
    fn drop(&mut self) {
        if let Some(gauge) = &self.gauge {
            redlock_core::panics::caught(metrics::RECORDER, || gauge.decrement(1));
        }
    }
}
