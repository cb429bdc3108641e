//! The response of a service to a lock error. The response names no resource, holder, pool or node.

use std::time::Duration;

use redlock_core::node::Remaining;

use super::{LockError, LockErrorKind};

/// The time after which to retry, if it is unknown when the lock will be free.
const DEFAULT_RETRY_AFTER: Duration = Duration::from_secs(1);

/// The HTTP status for a call that is refused because another caller holds the lock, or because its job ran already.
/// The configuration may set a different one.
pub(crate) const DEFAULT_CONTENDED_STATUS: u16 = 423;

/// The sentence for a client whose request may succeed later.
const NOT_NOW: &str = "The service cannot take this request right now. Try again later.";

impl LockError {
    /// Returns a sentence for the client of the service. Unlike the text of the error, it names no resource, holder or
    /// node.
    ///
    /// The responses of the features `axum` and `actix` use it as their `detail`.
    pub fn public_message(&self) -> &'static str {
        self.response().1
    }

    /// Returns the status of an HTTP response:
    ///
    /// * 423, or the configured [`Config::contended_status`](crate::Config::contended_status), if another caller holds
    ///   the resource, or if a job ran already in its period;
    /// * 503 if the lock was lost, or if the nodes or this process are unavailable;
    /// * 500 if the program has a mistake.
    ///
    /// The responses of the features `axum` and `actix` use this status.
    pub fn http_status(&self) -> u16 {
        self.response().0
    }

    /// Returns the time after which a retry makes sense. Returns `None` if a retry cannot help.
    ///
    /// * If another caller holds the lock: the ttl that its key had left when the call was refused.
    /// * If a job ran already: the rest of its period.
    /// * If a majority lacks nodes that [may have forgotten locks](crate::config::RestartCheck): the rest of their
    ///   quarantine.
    /// * Otherwise, or if the remaining ttl is unknown: a second. A caller that gave up in line may not know the ttl,
    ///   because only the first caller in line asks the nodes, and asks for the ttl only once it gives up.
    ///
    /// The responses of the features `axum` and `actix` use it as `Retry-After`, in whole seconds.
    ///
    /// ```
    /// # async fn example(error: redlock_runtime::LockError) -> Result<(), redlock_runtime::LockError> {
    /// match error.retry_after() {
    ///     Some(pause) => tokio::time::sleep(pause).await,
    ///     None => return Err(error),
    /// }
    /// # Ok(()) }
    /// ```
    pub fn retry_after(&self) -> Option<Duration> {
        self.response().2
    }

    /// Returns the status, the sentence for the client, and the time after which a retry makes sense.
    fn response(&self) -> (u16, &'static str, Option<Duration>) {
        let context = self.details.context.as_ref();
        // Only calls with a registry can be refused because of a holder, so this default has no effect.
        let contended_status = context.map_or(DEFAULT_CONTENDED_STATUS, |it| it.contended_status);
        match self.kind() {
            LockErrorKind::Contended(contended) => (
                contended_status,
                "Another request is working on this right now. Try again later.",
                match contended.holding.remaining {
                    Remaining::Expires(left) => Some(left),
                    _ => Some(DEFAULT_RETRY_AFTER),
                },
            ),
            LockErrorKind::AlreadyRun(run) => (
                contended_status,
                "This was done already a short while ago. Try again later.",
                Some(run.next_in),
            ),
            LockErrorKind::Unavailable(down) => (
                503,
                NOT_NOW,
                Some(down.quarantine_left().max(DEFAULT_RETRY_AFTER)),
            ),
            LockErrorKind::ShuttingDown => (503, NOT_NOW, Some(DEFAULT_RETRY_AFTER)),
            LockErrorKind::Lost(_) => (
                503,
                "The request was stopped before it was done; part of it may have taken effect.",
                Some(DEFAULT_RETRY_AFTER),
            ),
            LockErrorKind::NotInitialized
            | LockErrorKind::UnknownPool { .. }
            | LockErrorKind::Invalid(_) => {
                (500, "The service is not set up for this request.", None)
            }
        }
    }
}
