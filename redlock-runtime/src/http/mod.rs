//! Lock errors as problem+json (RFC 9457).

#[cfg(feature = "actix")]
mod actix;
#[cfg(feature = "axum")]
mod axum;

use std::time::Duration;

use crate::error::{LockError, LockErrorKind};
use crate::telemetry::name_of;

pub(crate) const CONTENT_TYPE: &str = "application/problem+json";

/// A client is told to come back within this, however long the holder may take.
const LONGEST_RETRY_AFTER: Duration = Duration::from_secs(30);

/// What an HTTP client may know: nothing of resources, holders, pools or nodes.
pub(crate) struct Problem {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<u64>,
    pub(crate) detail: &'static str,
    pub(crate) body: String,
}

impl Problem {
    /// With the framework's list of what the statuses are called.
    pub(crate) fn of(error: &LockError, reason_of: fn(u16) -> Option<&'static str>) -> Self {
        let (status, detail) = match error.kind() {
            LockErrorKind::Contended(_) => (
                error.contended_status(),
                "Another request is working on this right now. Try again later.",
            ),
            LockErrorKind::AlreadyRun(_) => (
                error.contended_status(),
                "This was done already a short while ago. Try again later.",
            ),
            LockErrorKind::Unavailable(_) | LockErrorKind::ShuttingDown => (
                503,
                "The service cannot take this request right now. Try again later.",
            ),
            LockErrorKind::Lost(_) => (
                503,
                "The request was stopped before it was done; part of it may have taken effect.",
            ),
            _ => (500, "The service is not set up for this request."),
        };
        // What `about:blank` asks for as a title: the status's own phrase.
        let title = reason_of(status).unwrap_or("Not Available");
        // Every text is a constant without characters that JSON has to escape.
        let body = format!(
            r#"{{"type":"about:blank","title":"{title}","status":{status},"detail":"{detail}"}}"#
        );
        Self {
            status,
            retry_after: error.retry_after().map(seconds),
            detail,
            body,
        }
    }

    /// An error that the service has to mend is written as a debug line only, and the client does
    /// not see it. All other errors were logged by the lock: with the nodes down, every request
    /// would log one more.
    pub(crate) fn log(&self, error: &LockError) {
        if self.retry_after.is_none() {
            tracing::error!(
                site = name_of(error.site()),
                %error,
                "a request failed for its lock",
            );
        }
    }
}

/// Whole seconds, at least one, as the header counts.
fn seconds(after: Duration) -> u64 {
    let after = after.min(LONGEST_RETRY_AFTER);
    (after.as_secs() + u64::from(after.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_whole_seconds_and_capped() {
        for (ms, expected) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (3_600_000, 30)] {
            assert_eq!(seconds(Duration::from_millis(ms)), expected);
        }
    }
}
