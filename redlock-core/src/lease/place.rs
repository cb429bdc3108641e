//! A lease's place in the line of its lock, and the permits that it has.

use crate::model::kind::Kind;
use crate::model::permits::PermitSet;
use crate::waiting::{LineKey, Turn};

use super::{LeaseHandle, LeaseShared};

/// What a lease keeps of the line in which its caller stood.
pub(crate) enum LeasePlace {
    /// The turn, until the lease is over.
    Line(Turn),
    /// A reader's turn was passed on.
    Passed,
    /// The lease is on permits, and its turn was passed on.
    Permits(Box<HeldPermits>),
}

/// The permits of a lease.
pub(crate) struct HeldPermits {
    pub(super) line_key: LineKey,
    pub(super) permits: PermitSet,
}

impl LeasePlace {
    /// The place of a lease on `permits`, whose caller has `turn`.
    pub(crate) fn permits(turn: &Turn, permits: PermitSet) -> Self {
        let line_key = turn.line_key().clone();
        Self::Permits(Box::new(HeldPermits { line_key, permits }))
    }

    pub(super) fn parts(self) -> (Option<Turn>, Option<Box<HeldPermits>>) {
        match self {
            Self::Line(turn) => (Some(turn), None),
            Self::Passed => (None, None),
            Self::Permits(held) => (None, Some(held)),
        }
    }
}

impl LeaseShared {
    /// The release of the permits was sent: the first caller in line asks for them at once.
    pub(super) fn tell_of_released_permits(&self) {
        if let Some(held) = &self.permits {
            let lines = &self.leases.lines;
            lines.permits_released(&held.line_key, held.permits);
        }
    }
}

impl LeaseHandle {
    /// The number of the lease's permit, which no other live holder has: 0 up to the number of permits,
    /// without it. The smallest one if the lease has several. `None` for a plain lock.
    pub fn permit(&self) -> Option<u16> {
        self.permits().first()
    }

    /// The numbers of the lease's permits. Empty for a plain lock.
    pub fn permits(&self) -> PermitSet {
        match (&self.shared.permits, self.shared.kind) {
            (Some(held), _) => held.permits,
            // The only permit, which is the plain lock.
            (None, Kind::Permits(_)) => PermitSet::below(1),
            (None, _) => PermitSet::default(),
        }
    }
}
