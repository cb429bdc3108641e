//! The place of a lease to which the body has a reference.

use std::sync::OnceLock;

use crate::lease::Lease;

/// The lease of one call, once the call has it. Dropping the slot sends the release.
#[must_use]
#[derive(Default)]
pub struct LeaseSlot {
    lease: OnceLock<Lease>,
}

impl LeaseSlot {
    /// Makes an empty slot.
    pub const fn new() -> Self {
        Self {
            lease: OnceLock::new(),
        }
    }

    pub(super) fn of(lease: Lease) -> Self {
        let lease = OnceLock::from(lease);
        Self { lease }
    }

    /// Keeps the lease of the one call that the slot is for.
    pub(super) fn fill(&self, lease: Lease) {
        self.lease.get_or_init(|| lease);
    }

    /// Returns the value that `guard` binds in the body.
    ///
    /// # Panics
    /// If the call of the body was not [given](super::CallState::with_slot) this slot.
    pub fn lease(&self) -> &Lease {
        self.lease.get().expect("a body runs under its lock only")
    }
}
