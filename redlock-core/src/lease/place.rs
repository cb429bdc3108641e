//! A lease's place in the line of its lock, and the permit that it has.

use crate::model::kind::Kind;
use crate::waiting::{LineKey, Turn};

use super::{LeaseHandle, LeaseShared};

/// What a lease keeps of the line in which its caller stood.
pub(crate) enum LeasePlace {
    /// The turn, until the lease is over.
    Line(Turn),
    /// A reader's turn was passed on.
    Passed,
    /// The lease is on a permit, and its turn was passed on.
    Permit(Box<HeldPermit>),
}

/// The permit of a lease.
pub(crate) struct HeldPermit {
    pub(super) line_key: LineKey,
    permit: u16,
}

impl LeasePlace {
    /// The place of a lease on `permit`, whose caller has `turn`.
    pub(crate) fn permit(turn: &Turn, permit: u16) -> Self {
        let line_key = turn.line_key().clone();
        Self::Permit(Box::new(HeldPermit { line_key, permit }))
    }

    pub(super) fn parts(self) -> (Option<Turn>, Option<Box<HeldPermit>>) {
        match self {
            Self::Line(turn) => (Some(turn), None),
            Self::Passed => (None, None),
            Self::Permit(held) => (None, Some(held)),
        }
    }
}

impl LeaseShared {
    /// The release of the permit was sent: the first caller in line asks for it at once.
    pub(super) fn tell_of_released_permit(&self) {
        if let Some(held) = &self.permit {
            let lines = &self.leases.lines;
            lines.permit_released(&held.line_key, held.permit);
        }
    }
}

impl LeaseHandle {
    /// The number of the lease's permit, which no other live holder has: 0 up to the number of permits,
    /// without it. `None` for a plain lock.
    pub fn permit(&self) -> Option<u16> {
        match (&self.shared.permit, self.shared.kind) {
            (Some(held), _) => Some(held.permit),
            // The only permit, which is the plain lock.
            (None, Kind::Permits(_)) => Some(0),
            (None, _) => None,
        }
    }
}
