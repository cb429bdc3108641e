//! Converts lock errors to problem+json (RFC 9457).

#[cfg(feature = "actix")]
mod actix;
#[cfg(feature = "axum")]
mod axum;

use std::time::Duration;

use redlock_core::internal::log_throttled;
use redlock_core::targets;

use crate::error::LockError;
use crate::telemetry::kind_of;

pub(crate) const CONTENT_TYPE: &str = "application/problem+json";

/// The part of an error that an HTTP client may see. This part names no resource, holder, pool or node.
pub(crate) struct ProblemJson {
    pub(crate) retry_after: Option<u64>,
    pub(crate) detail: &'static str,
    pub(crate) body: String,
}

impl ProblemJson {
    /// Builds the problem of an error, and logs the error. `reason_of` is the framework's list of status phrases.
    pub(crate) fn of(error: &LockError, reason_of: fn(u16) -> Option<&'static str>) -> Self {
        let (status, detail) = (error.http_status(), error.public_message());
        // The type `about:blank` requires the phrase of the status as the title.
        let title = reason_of(status).unwrap_or("Not Available");
        // Each text is a constant, and has no characters that JSON must escape.
        let body = format!(
            r#"{{"type":"about:blank","title":"{title}","status":{status},"detail":"{detail}"}}"#
        );
        let retry_after = error.retry_after().map(seconds);
        log_internal(error);
        Self {
            retry_after,
            detail,
            body,
        }
    }
}

/// Logs an error that is a mistake in the service. The lock has logged all other errors already. Another line for each
/// request would be too much when the nodes are down.
fn log_internal(error: &LockError) {
    if error.retry_after().is_some() {
        return;
    }
    log_throttled!(
        target: targets::LOCK, error.throttle(),
        (error.site().name(), kind_of(error)),
        ERROR,
        "a request failed because of its lock",
        site = %error.site().name(),
        %error
    );
}

/// Converts a time to whole seconds, at least one, as the header requires.
fn seconds(after: Duration) -> u64 {
    (after.as_secs() + u64::from(after.subsec_nanos() > 0)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_after_is_whole_seconds() {
        for (ms, expected) in [(0, 1), (1, 1), (1000, 1), (1001, 2), (30_000, 30)] {
            assert_eq!(seconds(Duration::from_millis(ms)), expected);
        }
    }
}
