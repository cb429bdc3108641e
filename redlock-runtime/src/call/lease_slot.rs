//! The slot for a lease, to which the body of a call has a reference.

use std::sync::OnceLock;

use crate::lease::{Fenced, Lease};

/// Keeps the lease of one call, once the call has it. Dropping the slot sends the release.
#[must_use]
#[derive(Default)]
pub struct LeaseSlot {
    /// `Ok` is a lease with a fencing token, `Err` a lease without one.
    lease: OnceLock<Result<Fenced<Lease>, Lease>>,
}

impl LeaseSlot {
    /// Creates an empty slot.
    pub const fn new() -> Self {
        Self {
            lease: OnceLock::new(),
        }
    }

    pub(super) fn of(lease: Lease) -> Self {
        let lease = OnceLock::from(Fenced::of(lease));
        Self { lease }
    }

    /// Stores the lease of the one call that the slot serves.
    #[allow(clippy::result_large_err, reason = "a lease is kept either way")]
    pub(super) fn fill(&self, lease: Lease) {
        self.lease.get_or_init(|| Fenced::of(lease));
    }

    /// Returns the value that `guard` binds in the body.
    ///
    /// # Panics
    /// Panics if the call of the body was not [given](super::CallState::with_slot) this slot.
    pub fn lease(&self) -> &Lease {
        match self.lease.get().expect("the body runs under its lock") {
            Ok(fenced) => fenced,
            Err(lease) => lease,
        }
    }

    /// Returns the value that `guard` binds in the body of a function whose attribute says `fencing = true`.
    ///
    /// # Panics
    /// Panics in the same case as [`lease`](Self::lease).
    pub fn fenced_lease(&self) -> &Fenced<Lease> {
        let fenced = self.lease.get().and_then(|lease| lease.as_ref().ok());
        fenced
            .expect("the body runs under its lock, and no configuration removes its fencing token")
    }
}
