//! The votes of a round that a lease keeps until its next extension.

use std::sync::Arc;

use crate::node::Node;
use crate::quorum::votes::INLINE_EPOCHS;

use super::Round;

/// The votes of an extension. A process may have very many leases, and each keeps the votes of its last
/// extension: a round has ten times the size.
#[derive(Clone)]
pub(crate) enum KeptVotes {
    /// Stragglers are still counted in the round.
    Open(Arc<Round>),
    /// All nodes have answered. The seats are bits, and a grant counts in its epoch.
    Complete {
        granted: u8,
        absent: u8,
        held: u8,
        epochs: [u32; INLINE_EPOCHS],
    },
}

impl KeptVotes {
    pub(crate) fn of(round: &Arc<Round>) -> Self {
        let complete = round.complete_votes();
        complete.unwrap_or_else(|| Self::Open(Arc::clone(round)))
    }

    /// All nodes have answered in `round`. Returns the round if it was kept here until now, to be dropped
    /// outside of the claim's mutex.
    pub(crate) fn complete(&mut self, round: &Round) -> Option<Self> {
        let is_kept = matches!(self, Self::Open(open) if std::ptr::eq(Arc::as_ptr(open), round));
        let complete = round.complete_votes().filter(|_| is_kept)?;
        Some(std::mem::replace(self, complete))
    }

    /// The seats that answered that our key is gone, and the seats that hold another token.
    pub(crate) fn gone_seats(&self) -> (u64, u64) {
        match self {
            Self::Open(round) => round.gone_seats(),
            Self::Complete { absent, held, .. } => ((*absent).into(), (*held).into()),
        }
    }

    /// The seats that have granted.
    pub(crate) fn granted_seats(&self) -> u64 {
        match self {
            Self::Open(round) => round.granted_seats(),
            Self::Complete { granted, .. } => (*granted).into(),
        }
    }

    /// The seats of `nodes` that granted and cannot have forgotten it since.
    pub(crate) fn vouching_seats(&self, nodes: &[Arc<dyn Node>]) -> u64 {
        match self {
            Self::Open(round) => round.vouching_seats(nodes),
            Self::Complete {
                granted, epochs, ..
            } => {
                let seats = nodes.iter().zip(epochs).enumerate();
                let current = seats.filter(|(_, (node, epoch))| node.epoch() == **epoch);
                let current = current.fold(0, |seats, (seat, _)| seats | super::bit(seat));
                current & u64::from(*granted)
            }
        }
    }
}

impl Round {
    /// The votes in short. `None` while a node has not answered, or if there are too many nodes.
    fn complete_votes(&self) -> Option<KeptVotes> {
        let state = self.state.lock();
        let votes = &state.votes;
        let small = |seats: u64| u8::try_from(seats).ok();
        let is_complete = votes.configured <= INLINE_EPOCHS && votes.tally().pending() == 0;
        Some(KeptVotes::Complete {
            granted: small(votes.granted).filter(|_| is_complete)?,
            absent: small(votes.absent)?,
            held: small(votes.held)?,
            epochs: votes.epochs,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Answer, Holding, NodeError, NodeErrorKind};
    use crate::quorum::round::Goal;

    fn granted(epoch: u32) -> Answer {
        Answer::Granted {
            counter: None,
            epoch,
            permits: None,
        }
    }

    #[test]
    fn complete_votes_say_what_the_round_said() {
        let round = Round::new(5, Goal::All);
        let error = NodeError::unsent(NodeErrorKind::NotConnected, "connection refused");
        let answers = [
            granted(3),
            Answer::Absent,
            Answer::Held(Holding::default()),
            Answer::Failed(error),
        ];
        for (seat, answer) in answers.into_iter().enumerate() {
            round.vote(seat, answer);
            assert!(matches!(KeptVotes::of(&round), KeptVotes::Open(_)));
        }
        let mut kept = KeptVotes::of(&round);
        assert!(kept.complete(&round).is_none());
        round.vote(4, granted(7));
        let other = Round::new(0, Goal::All);
        assert!(kept.complete(&other).is_none(), "a later extension");
        assert!(kept.complete(&round).is_some());
        assert!(kept.complete(&round).is_none());
        assert!(matches!(kept, KeptVotes::Complete { .. }));
        assert_eq!(kept.granted_seats(), round.granted_seats());
        assert_eq!(kept.gone_seats(), round.gone_seats());
        let KeptVotes::Complete { epochs, .. } = kept else {
            unreachable!()
        };
        assert_eq!((epochs[0], epochs[4]), (3, 7));
    }

    #[test]
    fn the_votes_of_many_nodes_stay_in_their_round() {
        let round = Round::new(6, Goal::All);
        for seat in 0..6 {
            round.vote(seat, granted(0));
        }
        assert!(matches!(KeptVotes::of(&round), KeptVotes::Open(_)));
    }
}
