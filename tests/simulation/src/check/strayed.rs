//! The rule about permits that a node grants beside those of a lease, and tells of late.

use std::sync::Arc;

use crate::operation::Operation;
use redlock_core::node::Vote;
use redlock_core::testing::permit_key;

use crate::history::History;

impl History {
    /// A node's answer to `operation` is about to reach the client. If it grants another permit than that of a
    /// lease that was made before, the permit has to go, whether the lease is held or over: its release.
    pub(crate) fn strayed_late(
        &self,
        operation: &Operation,
        answer: &Vote,
    ) -> Option<Arc<Operation>> {
        let taken = operation.taken(answer)?;
        let mut inner = self.lock();
        let owner = operation.token();
        let attempt = inner.number_of(owner.as_bytes())?;
        let lease = inner.leases.iter().find(|lease| lease.attempt == attempt)?;
        if lease.permit == Some(taken) {
            return None;
        }
        let keys = permit_key(&lease.resource, b"", taken);
        let ttl = inner.attempts[attempt].longest_ttl;
        inner.coverage.strayed_late += 1;
        Some(Operation::release(keys, owner, ttl))
    }
}
