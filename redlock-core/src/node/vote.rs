//! Votes: what the answers of nodes mean to the caller of a lock.

use super::call::ReadReply;
use super::holding::{Holding, Remaining};
use super::value::{Value, is_wrong_type};
use super::{Answer, NodeError, NodeErrorKind};

/// A node's vote: its answer to a call, as the call's kind of lock reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Vote {
    /// Done: the keys are ours (acquire), live on (extend), or were ours and are deleted (release).
    Granted {
        /// The node's counter after this acquisition, if a fencing token was asked for.
        counter: Option<u64>,
        /// The [epoch](crate::Node::epoch) in which the node served the call.
        epoch: u32,
        /// To an acquisition of one of several keys: the place of the key that is ours now.
        choice: Option<u16>,
    },
    /// A key holds another value than our token. In answer to a release the key may also be missing, if the server does
    /// not tell the two apart.
    Held(Holding),
    /// No key holds another token. To an extension or a confirmation: at least one key is missing. To another
    /// call: no key exists.
    Absent,
    /// The node did not serve the call, or it is unknown whether it did.
    Failed(NodeError),
}

impl Vote {
    /// A grant without a counter. `Vote::of` sets the epoch in which the node answered.
    pub const GRANTED: Self = Self::granted(None, None);

    /// Returns a grant with the fencing `counter`, or of the permit at the place `choice`.
    pub(crate) const fn granted(counter: Option<u64>, choice: Option<u16>) -> Self {
        Self::Granted {
            counter,
            epoch: 0,
            choice,
        }
    }

    /// Reads `answer` as a vote, by the call's `read`.
    pub(crate) fn of(read: ReadReply, answer: Answer) -> Self {
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

    /// Returns the key, or the advice, that refused an acquisition.
    pub(crate) fn holding(&self) -> Option<&Holding> {
        match self {
            Self::Held(holding) => Some(holding),
            _ => None,
        }
    }
}
