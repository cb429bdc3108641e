//! What can go wrong, each kind by itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::model::brief::Brief;
use crate::model::invalid::Invalid;
use crate::node::{Answer, Holding, NodeError, Remaining};

/// Why a lock was not acquired. Nothing of the attempts is left on a node that answered.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcquireError {
    /// A majority of the nodes answered, and someone else holds the resource.
    #[error(transparent)]
    Contended(Contended),
    /// No majority of the nodes answered, or too late for the lock to be of use.
    #[error(transparent)]
    Unavailable(Unavailable),
    /// The request itself cannot be served.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Why a lease could not be extended.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtendError {
    /// The lease is over.
    #[error("{0}")]
    Ended(LeaseEnd),
    /// No majority of the nodes answered. The old deadline still stands.
    #[error(transparent)]
    Unavailable(Unavailable),
    /// The request itself cannot be served.
    #[error(transparent)]
    Invalid(#[from] Invalid),
}

/// Why a lease is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum LeaseEnd {
    /// Its validity ended.
    Expired,
    /// So many nodes no longer hold its token that the rest is no majority.
    Taken,
    /// So many nodes may have forgotten it, because they restarted or their clocks stepped, that
    /// the rest is no majority.
    Forgotten,
    /// It was called back, because the process is shutting down.
    Revoked,
    /// Its holder released it.
    Released,
}

impl fmt::Display for LeaseEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Expired => "the lease's validity ended",
            Self::Taken => "the lock's keys are gone, or another's, on too many nodes",
            Self::Forgotten => {
                "too many nodes may have forgotten the lock: they restarted, or their clocks stepped"
            }
            Self::Revoked => "the lease was called back for shutdown",
            Self::Released => "the lease was released",
        })
    }
}

/// Someone else holds the resource.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Contended {
    /// What is known of the key that stands in the way, where a node told.
    pub holding: Holding,
    /// How many attempts were made; none by a caller who stood in line behind another one of its
    /// process.
    pub attempts: u32,
    /// How long it took to give up.
    pub waited: Duration,
    /// So many callers of this process stood in line already that no more are let in; else zero.
    pub waiters: usize,
}

impl fmt::Display for Contended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.waiters > 0 {
            return write!(
                f,
                "wanted by {} callers of this process already, and no more are let in",
                self.waiters
            );
        }
        match self.holding.owner() {
            Some(owner) => write!(f, "held by {owner}")?,
            None => f.write_str("held by another client")?,
        }
        match self.holding.remaining() {
            Remaining::Expires(left) => write!(f, " for {} more", Brief(left))?,
            Remaining::Never => {
                f.write_str(
                    ", by a key that never expires: that is no lock; delete it if it is a leftover",
                )?;
            }
            Remaining::NotALock => {
                f.write_str(", by a key that is not a string: that is no lock; choose another resource or key prefix")?;
            }
            Remaining::Unknown => {}
        }
        write!(f, "; {}", GaveUp(self.attempts, self.waited))
    }
}

impl std::error::Error for Contended {}

/// No majority of the nodes answered in time.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Unavailable {
    /// How many nodes said yes.
    pub granted: usize,
    /// How many would have been needed.
    pub needed: usize,
    /// Each node that did not say yes, in the order of the configuration.
    pub nodes: Vec<NodeReport>,
    /// A majority did say yes, but too late.
    pub too_late: Option<TooLate>,
    /// How many attempts were made.
    pub attempts: u32,
    /// How long it took to give up.
    pub waited: Duration,
}

/// For what the votes of a majority came too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TooLate {
    /// Only this much was left of the validity: nothing, or less than the request demanded.
    Validity(Duration),
    /// The attempt had been given up after this time.
    Timeout(Duration),
}

/// What one node did instead of granting.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NodeReport {
    /// The pool's name.
    pub name: Arc<str>,
    /// What it did.
    pub outcome: NodeOutcome,
}

/// See [`NodeReport`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NodeOutcome {
    /// It said that another client holds the resource.
    Held,
    /// It said that our key is not there.
    Absent,
    /// It gave no answer within this time.
    NoAnswer(Duration),
    /// It could not serve the request.
    Failed(NodeError),
}

impl NodeReport {
    /// The nodes that did not grant, from the votes of a round that took `elapsed`.
    pub(crate) fn of_round<'a>(
        names: impl Iterator<Item = &'a str>,
        answers: Vec<Option<Answer>>,
        elapsed: Duration,
    ) -> Vec<Self> {
        names
            .zip(answers)
            .filter_map(|(name, answer)| {
                let outcome = match answer {
                    Some(Answer::Granted { .. }) => return None,
                    Some(Answer::Held(_)) => NodeOutcome::Held,
                    Some(Answer::Absent) => NodeOutcome::Absent,
                    Some(Answer::Failed(error)) => NodeOutcome::Failed(error),
                    None => NodeOutcome::NoAnswer(elapsed),
                };
                Some(Self {
                    name: name.into(),
                    outcome,
                })
            })
            .collect()
    }
}

impl fmt::Display for NodeReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.name)?;
        match &self.outcome {
            NodeOutcome::Held => f.write_str("held by another client"),
            NodeOutcome::Absent => f.write_str("the key is gone"),
            NodeOutcome::NoAnswer(elapsed) => write!(f, "no answer in {}", Brief(*elapsed)),
            NodeOutcome::Failed(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (granted, configured) = (self.granted, self.granted + self.nodes.len());
        write!(f, "{granted} of {configured} nodes voted, ")?;
        match self.too_late {
            None => write!(f, "{} needed", self.needed)?,
            Some(TooLate::Validity(left)) => {
                let left = Brief(left);
                write!(
                    f,
                    "but so late that {left} of validity was left; raise the ttl"
                )?;
            }
            Some(TooLate::Timeout(timeout)) => {
                let timeout = Brief(timeout);
                write!(
                    f,
                    "but not within {timeout}; raise `node_timeout` if that is usual"
                )?;
            }
        }
        for node in &self.nodes {
            write!(f, "; {node}")?;
        }
        if self.attempts != 1 {
            write!(f, "; {}", GaveUp(self.attempts, self.waited))?;
        }
        Ok(())
    }
}

impl std::error::Error for Unavailable {}

/// After how many attempts, and how long.
struct GaveUp(u32, Duration);

impl fmt::Display for GaveUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waited = Brief(self.1);
        match self.0 {
            0 => write!(
                f,
                "gave up after {waited} behind other callers of this process"
            ),
            1 => write!(f, "gave up after 1 attempt in {waited}"),
            n => write!(f, "gave up after {n} attempts in {waited}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::NodeErrorKind;

    #[test]
    fn contended_names_the_holder_and_the_remaining_time() {
        let token = format!("web-7/3121/{}", "0f".repeat(16));
        let mut holding = Holding::by(token.into_bytes());
        holding.remaining = Remaining::Expires(Duration::from_millis(12_345));
        let waited = Duration::from_millis(410);
        let error = AcquireError::Contended(Contended {
            holding,
            attempts: 3,
            waited,
            waiters: 0,
        });
        assert_eq!(
            error.to_string(),
            "held by web-7/3121 for 12 s more; gave up after 3 attempts in 410 ms",
        );
    }

    #[test]
    fn unavailable_names_each_nodes_reason() {
        let refused = NodeError::unsent(NodeErrorKind::NotConnected, "connection refused");
        let answers = vec![Some(Answer::GRANTED), Some(Answer::Failed(refused)), None];
        let elapsed = Duration::from_millis(50);
        let error = Unavailable {
            granted: 1,
            needed: 2,
            nodes: NodeReport::of_round(["a", "b", "c"].into_iter(), answers, elapsed),
            too_late: None,
            attempts: 1,
            waited: elapsed,
        };
        assert_eq!(
            error.to_string(),
            "1 of 3 nodes voted, 2 needed; b: connection refused; c: no answer in 50 ms",
        );
    }

    #[test]
    fn a_key_that_is_no_lock_is_said_to_be_so() {
        let error = Contended {
            holding: Holding::unknown(Remaining::Never),
            attempts: 1,
            waited: Duration::ZERO,
            waiters: 0,
        };
        assert!(
            error.to_string().contains("never expires: that is no lock"),
            "{error}"
        );
    }
}
