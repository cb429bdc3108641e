//! An observer of answers. An exporter of metrics implements it, because this crate exports none.

use std::fmt;
use std::time::Duration;

/// Receives the time of each answer of a node. See
/// [`RedisOptions::answers`](crate::redis::RedisOptions::answers).
pub trait ObserveAnswers: fmt::Debug + Send + Sync {
    /// Receives the time from the submission of an operation, or of a check of the connection, to its answer. The node
    /// calls this for each answer, on the runtime of its connection, so it must not block.
    fn record_answer(&self, after: Duration);
}
