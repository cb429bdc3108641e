//! The votes of an acquisition, while they are needed.

use std::sync::Arc;

use crate::model::token::OwnerToken;
use crate::quorum::round::{Round, Seats};

/// The votes of the acquisition.
#[derive(Clone)]
pub(super) enum Acquisition {
    /// Stragglers are still counted in this round.
    Open(Arc<Round>),
    /// All nodes have answered, and a later round is the proof that counts. A lease that is renewed for
    /// hours need not keep the votes.
    Settled(Seats),
}

impl Acquisition {
    pub(super) fn seats(&self) -> Seats {
        match self {
            Self::Open(round) => round.seats(),
            Self::Settled(seats) => *seats,
        }
    }

    pub(super) fn retract(&self) {
        match self {
            Self::Open(round) => round.retract(),
            // Every node has answered, so no operation is on its way.
            Self::Settled(_) => {}
        }
    }

    /// True if a refusal named `own`, while the votes are kept.
    pub(super) fn names(&self, own: &OwnerToken) -> bool {
        matches!(self, Self::Open(round) if round.names(own))
    }

    pub(super) fn settle(&mut self) {
        if let Self::Open(round) = self
            && round.is_complete()
        {
            *self = Self::Settled(round.seats());
        }
    }
}
