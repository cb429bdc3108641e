//! The [`majority`] of the nodes, and the counting of their votes.
//!
//! A lock is held if a majority of its *configured* nodes granted it. A node that is down is still configured, so it
//! counts against the lock.
//!
//! | nodes | majority | may fail |
//! |---|---|---|
//! | 1 | 1 | 0 |
//! | 3 | 2 | 1 |
//! | 5 | 3 | 2 |
//!
//! A fourth node raises the majority to 3, and still only one node may fail.

pub(crate) mod claim;
pub(crate) mod extension_proof;
pub(crate) mod fencing;
pub(crate) mod lock_protocol;
pub(crate) mod peek;
pub(crate) mod round;
pub(crate) mod validity;
mod votes;

pub use fencing::{COUNTER_IDLE, HINT_WINDOW};

pub use crate::model::majority::majority;
use crate::node::Vote;

/// The counts of a round's votes so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) configured: usize,
    /// Grants: votes for this client.
    pub(crate) granted: usize,
    /// Votes against this client, because another holder has the key.
    pub(crate) held: usize,
    /// Votes `Absent`: a key is missing, and no other holder has one.
    pub(crate) absent: usize,
    /// Failures of nodes to serve the call.
    pub(crate) failed: usize,
}

impl Tally {
    pub(crate) fn of(votes: &[Option<Vote>]) -> Self {
        let mut tally = Self {
            configured: votes.len(),
            ..Self::default()
        };
        votes.iter().flatten().for_each(|vote| tally.count(vote));
        tally
    }

    pub(crate) fn count(&mut self, vote: &Vote) {
        match vote {
            Vote::Granted { .. } => self.granted += 1,
            Vote::Held(_) => self.held += 1,
            Vote::Absent => self.absent += 1,
            Vote::Failed(_) => self.failed += 1,
        }
    }

    pub(crate) const fn pending(&self) -> usize {
        self.configured - self.granted - self.held - self.absent - self.failed
    }

    /// True if a majority granted.
    pub(crate) const fn is_won(&self) -> bool {
        self.granted >= majority(self.configured)
    }

    /// True if a majority is impossible, even if all missing votes were grants.
    pub(crate) const fn is_out_of_reach(&self) -> bool {
        self.granted + self.pending() < majority(self.configured)
    }

    /// True if a majority answered. If the call is a release, our key is gone there, so another client could win now.
    pub(crate) const fn has_majority_answered(&self) -> bool {
        self.granted + self.held + self.absent >= majority(self.configured)
    }

    /// True if grants and "held" votes together can no longer reach a majority.
    pub(crate) const fn is_unanswered(&self) -> bool {
        self.granted + self.held + self.pending() < majority(self.configured)
    }

    /// True if a majority granted or answered "held", and at least one node answered "held". If the round is not won,
    /// another client holds the lock, or several clients split the votes.
    pub(crate) const fn is_contended(&self) -> bool {
        self.held > 0 && self.granted + self.held >= majority(self.configured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_majority_is_more_than_half_of_the_configured_nodes() {
        let expected = [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3), (6, 4), (7, 4)];
        for (configured, needed) in expected {
            assert_eq!(majority(configured), needed);
            assert!(
                2 * needed > configured,
                "two majorities of {configured} must share a node"
            );
        }
    }

    fn tally(configured: usize, granted: usize, held: usize, failed: usize) -> Tally {
        Tally {
            configured,
            granted,
            held,
            absent: 0,
            failed,
        }
    }

    #[test]
    fn every_split_of_votes_is_won_out_of_reach_or_open() {
        for configured in 1..=7 {
            for granted in 0..=configured {
                for held in 0..=configured - granted {
                    for failed in 0..=configured - granted - held {
                        let tally = tally(configured, granted, held, failed);
                        assert!(!(tally.is_won() && tally.is_out_of_reach()), "{tally:?}");
                        if tally.pending() == 0 {
                            assert!(tally.is_won() || tally.is_out_of_reach(), "{tally:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn an_even_split_is_contended_and_a_dead_majority_is_not() {
        let split = tally(2, 1, 1, 0);
        assert!(split.is_contended() && split.is_out_of_reach());
        assert!(!tally(3, 0, 1, 2).is_contended());
    }
}
