//! An observer of answers. An exporter of metrics implements it, because this crate exports none.

use std::fmt;
use std::time::Duration;

/// Receives the time of each answer of a node. See
/// [`RedisOptions::answers`](crate::redis::RedisOptions::answers).
pub trait ObserveAnswers: fmt::Debug + Send + Sync {
    /// Receives the time from an operation's submission, or that of a connection's check, to its answer. The node calls
    /// this for each answer, on the runtime of its connection, so it must not block.
    fn record_answer(&self, after: Duration);
}
