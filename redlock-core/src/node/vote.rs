//! Votes: the meaning of a node's answer for the caller of a lock.

use super::holding::{Holding, Remaining};
use super::value::{Value, is_wrong_type};
use super::{Answer, NodeError, NodeErrorKind};

/// A node's vote: its answer to a call, as read by the call's kind of lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Vote {
    /// The call succeeded: the keys are ours (acquire), live longer (extend), or were ours and are deleted (release).
    Granted {
        /// The node's fencing counter, if a fencing token was asked for.
        counter: Option<Counter>,
        /// The [epoch](crate::Node::epoch) in which the node served the call.
        epoch: u32,
        /// The index of the acquired key, if the call was for one of several keys.
        choice: Option<u16>,
    },
    /// A key holds another value than our token. After a release, the key may also be missing, because some servers do
    /// not tell the two apart.
    Held(Holding),
    /// The key is missing. After an extension or a confirmation, at least one key is missing, and none holds another
    /// token. After another call, all keys are missing.
    Absent,
    /// The node failed to serve the call. If the call [was sent](NodeError::was_sent), it may have run nevertheless.
    Failed(NodeError),
}

/// A node's fencing counter after it granted a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counter {
    /// The number of the counter now.
    pub count: u64,
    /// The lowest number that the lease may use, as far as this node knows. All earlier leases that this node granted
    /// have lower numbers, except for readers among readers.
    pub first: u64,
}

impl Vote {
    /// A grant without a counter. `Vote::of` sets its epoch.
    pub const GRANTED: Self = Self::granted(None, None);

    /// Returns a grant, with the fencing `counter`, or with the index `choice` of the granted permit.
    pub(crate) const fn granted(counter: Option<Counter>, choice: Option<u16>) -> Self {
        Self::Granted {
            counter,
            epoch: 0,
            choice,
        }
    }

    /// Reads `answer` as a vote, its reply by `read`.
    pub(crate) fn of(answer: Answer, read: impl FnOnce(Value) -> Option<Self>) -> Self {
        let (value, epoch) = match answer {
            Answer::Reply {
                value: Value::Error(text),
                ..
            } if is_wrong_type(&text) => return Self::Held(Holding::unknown(Remaining::NotALock)),
            Answer::Reply { value, epoch } => (value, epoch),
            Answer::Failed(error) => return Self::Failed(error),
        };
        let mut vote = read(value);
        if let Some(Self::Granted { epoch: of, .. }) = &mut vote {
            *of = epoch;
        }
        let invalid = "the server's answer is not a valid answer to the command";
        vote.unwrap_or_else(|| Self::Failed(NodeError::sent(NodeErrorKind::Protocol, invalid)))
    }

    /// Returns the reason for a refused acquisition.
    pub(crate) fn holding(&self) -> Option<&Holding> {
        match self {
            Self::Held(holding) => Some(holding),
            _ => None,
        }
    }
}
