//! What the nodes said to an acquisition, for as long as it is needed.

use std::sync::Arc;

use crate::model::token::OwnerToken;
use crate::quorum::round::{Round, Seats};

/// What the nodes said to the acquisition.
#[derive(Clone)]
pub(super) enum Acquisition {
    /// Stragglers are still being counted in here.
    Open(Arc<Round>),
    /// They all have answered, and a later round is the proof that counts: a lease that is renewed
    /// for hours need not keep the votes.
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
            // Every node has answered, so nothing is on its way.
            Self::Settled(_) => {}
        }
    }

    /// Whether a refusal named `own`, as far as the votes are still there.
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
