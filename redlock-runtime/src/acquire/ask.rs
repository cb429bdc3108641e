//! How the nodes are asked for a lock: anew, or by a ticket.

use std::future::Future;

use redlock_core::error::{AcquireError, Invalid};
use redlock_core::transfer::{ClaimError, Ticket};
use redlock_core::{Lease as CoreLease, Resource};

use super::{Prepared, Wanted};
use crate::error::{LockError, LockErrorKind, Subject};
use crate::lease::Lease;

/// Asks the nodes for a lock. A type for each way, and no value that tells them apart: the future of a claim
/// would be a part of every acquisition's future.
pub(super) trait Ask {
    type Error;

    fn ask(self, prepared: &Prepared) -> impl Future<Output = Result<CoreLease, Self::Error>>;

    fn error(error: Self::Error, resource: Resource) -> LockError;
}

/// Stands in line and tries as often as the request says.
pub(super) struct Anew;

impl Ask for Anew {
    type Error = AcquireError;

    fn ask(self, prepared: &Prepared) -> impl Future<Output = Result<CoreLease, AcquireError>> {
        let client = &prepared.registry.shared.client;
        client.acquire(&prepared.nodes, &prepared.request)
    }

    fn error(error: AcquireError, resource: Resource) -> LockError {
        LockError::of_acquire(error, resource)
    }
}

/// Makes the one attempt of a claim.
struct ByTicket(Ticket);

impl Ask for ByTicket {
    type Error = ClaimError;

    fn ask(self, prepared: &Prepared) -> impl Future<Output = Result<CoreLease, ClaimError>> {
        let client = &prepared.registry.shared.client;
        client.claim(&prepared.nodes, self.0, &prepared.request)
    }

    fn error(error: ClaimError, resource: Resource) -> LockError {
        LockError::of_claim(error, resource)
    }
}

impl Wanted {
    /// Takes the lock over from the giver of `ticket`. A call below a holder of the lock cannot.
    pub(crate) async fn claim(&self, ticket: Ticket) -> Result<Lease, LockError> {
        let mut prepared = self.prepare()?;
        if prepared.above.is_some() {
            let text = "a caller above holds it, so that nobody can have given it away";
            let kind = LockErrorKind::Invalid(Invalid::new(text));
            let error = LockError::new(kind, Subject::Resource(self.resource.clone()));
            return Err(self.refused(Some(&prepared.registry), error));
        }
        Box::pin(prepared.acquire_by(ByTicket(ticket))).await
    }
}
