//! Who counts what happens. Core keeps no metrics of its own: whoever exports some is told here.

use std::fmt;
use std::time::Duration;

use crate::error::ExtendError;

/// Hears how long a node's answers take. See [`RedisOptions::answers`](crate::RedisOptions::answers).
pub trait ObserveAnswers: fmt::Debug + Send + Sync {
    /// The answer to an operation, or to a check of the connection, came so long after the
    /// submission. Called on the I/O thread for each answer, so it must not block.
    fn answered(&self, after: Duration);
}

/// Hears what comes of a lease's extensions. See
/// [`LeaseHandle::observe_extensions`](crate::LeaseHandle::observe_extensions).
pub trait ObserveExtensions: Send + Sync {
    /// An extension that was sent, by hand or by the renewal, came to this. Must not block.
    fn extended(&self, outcome: Result<(), &ExtendError>);
}
