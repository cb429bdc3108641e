//! The place of a lease to which the body has a reference.

use std::sync::OnceLock;

use crate::lease::{FencedLease, Lease};

/// The lease of one call, once the call has it. Dropping the slot sends the release.
#[must_use]
#[derive(Default)]
pub struct LeaseSlot {
    lease: OnceLock<EitherLease>,
}

/// A lease by the type under which `guard` may bind it. A fenced lease can be bound as a plain one too.
enum EitherLease {
    Plain(Lease),
    Fenced(FencedLease),
}

impl LeaseSlot {
    /// Makes an empty slot.
    pub const fn new() -> Self {
        Self {
            lease: OnceLock::new(),
        }
    }

    pub(super) fn of(lease: Lease) -> Self {
        let slot = Self::new();
        slot.fill(lease);
        slot
    }

    /// Keeps the lease of the one call that the slot is for.
    pub(super) fn fill(&self, lease: Lease) {
        self.lease.get_or_init(|| match lease.core.fencing_token() {
            Some(_) => EitherLease::Fenced(FencedLease::new(lease)),
            None => EitherLease::Plain(lease),
        });
    }

    /// Returns the value that `guard` binds in the body.
    ///
    /// # Panics
    /// If the call of the body was not [given](super::CallState::with_slot) this slot.
    pub fn lease(&self) -> &Lease {
        match self.filled() {
            EitherLease::Plain(lease) => lease,
            EitherLease::Fenced(fenced) => &fenced.lease,
        }
    }

    /// Returns the value that `guard` binds in the body of a function with the literal `fencing = true`.
    ///
    /// # Panics
    /// As [`lease`](Self::lease).
    pub fn fenced_lease(&self) -> &FencedLease {
        match self.filled() {
            EitherLease::Fenced(fenced) => fenced,
            EitherLease::Plain(_) => unreachable!("`init` refuses to take the token from a site"),
        }
    }

    fn filled(&self) -> &EitherLease {
        self.lease.get().expect("a body runs under its lock only")
    }
}
