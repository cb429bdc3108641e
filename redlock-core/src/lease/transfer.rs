//! Giving a lock away: the lease ends, and the keys stay for the holder of the ticket.

use std::sync::atomic::Ordering;

use crate::error::LeaseEnd;
use crate::model::ticket::Ticket;

use super::Lease;

/// The reason why a lease was not given away.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TransferError {
    /// The lease is over.
    #[error("{0}")]
    Ended(LeaseEnd),
    /// This number of other holders share the lease, and would lose their lock. They keep it, and this
    /// holder has left.
    #[error("{0} calls below share the lease; let them end before it is given away")]
    Shared(usize),
    /// The lease is on permits, which cannot be claimed by a ticket. This holder has left.
    #[error(
        "a lease on permits cannot be given away; release it, and let the other process take a permit"
    )]
    Permits,
    /// The lease is a reader's or a writer's, which cannot be claimed by a ticket. This holder has left.
    #[error(
        "a lease that reads or writes cannot be given away; release it, and let the other process read or write"
    )]
    Mode,
}

impl Lease {
    /// Ends the lease and gives the lock away. A process with the ticket can
    /// [claim](crate::Client::claim) the lock, once. Nothing is sent. The keys are not renewed any more:
    /// they stay until their ttl, and exclude every caller without the ticket. If the ticket is not
    /// claimed by then, the lock is free.
    ///
    /// # Errors
    /// [`TransferError::Ended`] if the lease is over, [`TransferError::Shared`] if other holders
    /// [joined](crate::LeaseHandle::join) it, [`TransferError::Permits`] if it is on permits, and
    /// [`TransferError::Mode`] if it reads or writes. In each case this holder leaves, as by a drop of the
    /// lease.
    pub fn transfer(mut self) -> Result<Ticket, TransferError> {
        if self.handle.shared.kind.permits().is_some() {
            return Err(TransferError::Permits);
        }
        if self.handle.shared.kind.is_shared() {
            return Err(TransferError::Mode);
        }
        // The renewal stops before the lease is over.
        self.stop_renewal();
        let shared = self.handle.shared.clone();
        let left = shared
            .joined
            .compare_exchange(1, 0, Ordering::AcqRel, Ordering::Acquire);
        if let Err(holders) = left {
            return Err(TransferError::Shared(holders.saturating_sub(1) as usize));
        }
        // Nobody joins any more. From here on this holder has left.
        self.has_left = true;
        if let Some(over) = self.handle.over() {
            self.handle.release_once(&LeaseEnd::Released);
            return Err(TransferError::Ended(over));
        }
        // The turn is passed on at the end: the next caller of this process is refused until the lock is
        // claimed and released, or expires.
        let Some(_turn) = self.handle.begin_next_generation(LeaseEnd::Transferred) else {
            let over = self.handle.over().unwrap_or(LeaseEnd::Revoked);
            return Err(TransferError::Ended(over));
        };
        let over = self.handle.over();
        match over {
            Some(over) if over != LeaseEnd::Transferred => {
                // It was lost at this moment.
                shared.claim.release();
                Err(TransferError::Ended(over))
            }
            _ => {
                shared.keep_until_expiry();
                shared.claim.leave_to_expire();
                Ok(Ticket::new(
                    shared.claim.token.clone(),
                    shared.resource.clone(),
                ))
            }
        }
    }
}
