//! An observer of answers. Core keeps no metrics of its own; an exporter counts by this.

use std::fmt;
use std::time::Duration;

/// Hears how long a node's answers take. See [`RedisOptions::answers`](crate::RedisOptions::answers).
pub trait ObserveAnswers: fmt::Debug + Send + Sync {
    /// The answer to an operation, or to a check of the connection, came so long after the
    /// submission. Called on the I/O thread for each answer, so it must not block.
    fn answered(&self, after: Duration);
}
