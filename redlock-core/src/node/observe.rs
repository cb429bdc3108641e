//! An observer of answers. Core keeps no metrics of its own; an exporter counts with an observer.

use std::fmt;
use std::time::Duration;

/// Receives the time of each answer of a node. See
/// [`RedisOptions::answers`](crate::redis::RedisOptions::answers).
pub trait ObserveAnswers: fmt::Debug + Send + Sync {
    /// Receives the time from the moment when the node took an operation, or a check of the connection, to
    /// its answer. Called for each answer, on the runtime of the node's connection, so it must not block.
    fn record_answer(&self, after: Duration);
}
