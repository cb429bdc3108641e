//! The end of a claim: what is sent to the nodes, and to which of them.

use std::sync::Arc;

use crate::node::Call;
use crate::quorum::round::{Goal, Round, bit};

use super::Claim;

/// The end of a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimEnd {
    /// The release was sent.
    Released,
    /// A claim on some of the keys took its place.
    Narrowed,
}

impl Claim {
    /// Sends the release to every node that the acquisition may have reached, after the acquisition on
    /// the same connection. The node's answer makes no difference. Only the first call sends it.
    pub(crate) fn release(&self) -> Option<Arc<Round>> {
        {
            let mut state = self.state.lock();
            if state.ending.is_some() {
                // The acquisition of a claim that was narrowed goes on in the new claim.
                return None;
            }
            state.ending = Some(ClaimEnd::Released);
        }
        Some(self.send_release())
    }

    pub(super) fn send_release(&self) -> Arc<Round> {
        let release = Arc::new(self.release_of(&*self.kind, None));
        let unheard = self.unheard_release();
        self.send_to(u64::MAX, Goal::FreeOfUs, |at| match &unheard {
            Some((all, seats)) if seats & at != 0 => Arc::clone(all),
            _ => Arc::clone(&release),
        })
    }

    /// Sends what ends the claim, or a part of it, to those of `wanted` that the acquisition may have
    /// reached.
    pub(super) fn send_to(
        &self,
        wanted: u64,
        goal: Goal,
        call: impl Fn(u64) -> Arc<Call>,
    ) -> Arc<Round> {
        let seats = {
            let state = self.state.lock();
            // The acquisition may never have reached a node where the key was put back.
            (state.extension_proof.restored_seats() | state.acquisition.seats().reached) & wanted
        };
        let round = Round::new(self.nodes.len(), goal);
        round.submit_each(&self.nodes, |seat| {
            let at = bit(seat);
            (seats & at != 0).then(|| call(at))
        });
        round
    }
}
