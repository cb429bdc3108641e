//! The place of a lease to which the body has a reference.

use std::sync::OnceLock;

use crate::lease::{Fenced, Lease};

/// The lease of one call, once the call has it. Dropping the slot sends the release.
#[must_use]
#[derive(Default)]
pub struct LeaseSlot {
    /// The lease with its fencing token, or the lease alone.
    lease: OnceLock<Result<Fenced<Lease>, Lease>>,
}

impl LeaseSlot {
    /// Makes an empty slot.
    pub const fn new() -> Self {
        Self {
            lease: OnceLock::new(),
        }
    }

    pub(super) fn of(lease: Lease) -> Self {
        let lease = OnceLock::from(Fenced::of(lease));
        Self { lease }
    }

    /// Keeps the lease of the one call that the slot is for.
    #[allow(clippy::result_large_err, reason = "a lease is kept either way")]
    pub(super) fn fill(&self, lease: Lease) {
        self.lease.get_or_init(|| Fenced::of(lease));
    }

    /// Returns the value that `guard` binds in the body.
    ///
    /// # Panics
    /// If the call of the body was not [given](super::CallState::with_slot) this slot.
    pub fn lease(&self) -> &Lease {
        match self.lease.get().expect("a body runs under its lock only") {
            Ok(fenced) => fenced,
            Err(lease) => lease,
        }
    }

    /// Returns the value that `guard` binds in the body of a function with the literal `fencing = true`.
    ///
    /// # Panics
    /// As [`lease`](Self::lease).
    pub fn fenced_lease(&self) -> &Fenced<Lease> {
        let fenced = self.lease.get().and_then(|lease| lease.as_ref().ok());
        fenced.expect("a body runs under its lock only, whose token no configuration takes")
    }
}
