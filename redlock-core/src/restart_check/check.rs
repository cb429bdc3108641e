//! The check of a node, and its verdict.

use std::time::Duration;

use crate::env::Moment;

/// What a node answered when it was asked for its time and its marker.
#[derive(Clone, Copy, Debug)]
pub struct CheckAnswer<'a> {
    /// The process of the node, as it said on this connection; `None` if the ACL hides it.
    pub run_id: Option<&'a str>,
    /// The start of that process, by the node's clock, if the server tells it.
    pub started: Option<Duration>,
    /// The node's marker, after the write if there was one.
    pub marker: Option<&'a [u8]>,
    /// The node's clock, since the Unix epoch.
    pub time: Duration,
    /// When the question was sent, on the client's monotonic clock.
    pub asked: Moment,
    /// When the answer was there.
    pub answered: Moment,
}

/// The verdict of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What to do.
    pub action: Action,
    /// True if the node may have forgotten what it granted to this client before.
    pub is_new_epoch: bool,
    /// The step of the node's clock since the check before, in ms; positive if forwards.
    pub stepped_ms: Option<i64>,
}

/// What to do with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// It may vote.
    Vote,
    /// It must not vote yet.
    Hold {
        /// Why.
        reason: String,
        /// When to check again, at the latest.
        look_again: Duration,
        /// This is what the node is like for now. Otherwise it is decided in a moment, which is
        /// worth waiting for at the start.
        is_settled: bool,
    },
    /// It must not vote; set its marker, in one step, if it still is `expected`, and check again
    /// with what the node answers to that.
    Write {
        /// The marker before the write; `None` if it must be missing. The write does not happen with
        /// another one.
        expected: Option<Vec<u8>>,
        /// What it becomes.
        new: Vec<u8>,
        /// The write must not happen when the node's clock, since the Unix epoch, is past this.
        not_after: Duration,
        /// The reason why the node does not vote meanwhile.
        reason: String,
    },
    /// It must not vote at all: it is the same server as another node.
    Refuse {
        /// Names both, and the fix.
        reason: String,
    },
}
