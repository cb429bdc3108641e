//! The votes of an acquisition, while they are needed.

use std::sync::Arc;

use crate::quorum::round::{Round, Seats};

/// The votes of the acquisition.
#[derive(Clone)]
pub(super) enum Acquisition {
    /// Stragglers are still counted in this round.
    Open(Arc<Round>),
    /// All nodes have answered, and a later round is the proof that counts. A lease that is renewed for
    /// hours need not keep the votes.
    Settled(SmallSeats),
}

/// The [`Seats`] of at most eight nodes.
#[derive(Clone, Copy)]
pub(super) struct SmallSeats {
    answered: u8,
    granted: u8,
    in_time: u8,
    reached: u8,
}

impl SmallSeats {
    /// `None` if there are more nodes.
    fn of(seats: Seats, nodes: usize) -> Option<Self> {
        let all = 1_u64.checked_shl(u32::try_from(nodes).ok()?)? - 1;
        let small = |seats: u64| u8::try_from(seats & all).ok();
        u8::try_from(all).ok()?;
        Some(Self {
            answered: small(seats.answered)?,
            granted: small(seats.granted)?,
            in_time: small(seats.in_time)?,
            reached: small(seats.reached)?,
        })
    }

    fn seats(self) -> Seats {
        Seats {
            answered: self.answered.into(),
            granted: self.granted.into(),
            in_time: self.in_time.into(),
            reached: self.reached.into(),
        }
    }
}

impl Acquisition {
    pub(super) fn seats(&self) -> Seats {
        match self {
            Self::Open(round) => round.seats(),
            Self::Settled(seats) => seats.seats(),
        }
    }

    pub(super) fn retract(&self) {
        match self {
            Self::Open(round) => round.retract(),
            // Every node has answered, so no operation is on its way.
            Self::Settled(_) => {}
        }
    }

    pub(super) fn settle(&mut self) {
        if let Self::Open(round) = self
            && round.is_complete()
            && let Some(seats) = SmallSeats::of(round.seats(), round.tally().configured)
        {
            *self = Self::Settled(seats);
        }
    }
}
