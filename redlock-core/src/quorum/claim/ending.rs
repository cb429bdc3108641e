//! The end of a claim: what is sent to the nodes, and to which of them.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use crate::env::caught::log;
use crate::node::operation::{SharedOperation, Want};
use crate::node::{Answer, NodeError, NodeErrorKind};
use crate::quorum::round::{Goal, Round, bit};

use super::{Claim, millis};

/// The end of a claim.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ClaimEnd {
    /// The release was sent.
    Released,
    /// The keys are left to their ttl, or to a shortened one.
    LeftToExpire,
    /// A claim on some of the keys took its place.
    Narrowed,
}

fn anothers_perhaps() -> NodeError {
    let detail = "its key may belong to another process that draws the same random numbers";
    NodeError::unsent(NodeErrorKind::Server, detail)
}

impl Claim {
    /// Sends the release to every node that the acquisition may have reached, after the acquisition on
    /// the same connection. The node's answer makes no difference. Only the first call sends it.
    pub(crate) fn release(&self) -> Option<Arc<Round>> {
        self.end(ClaimEnd::Released).then(|| self.send_release())
    }

    /// Limits the life of the keys to `ttl` on every node that the acquisition may have reached, and
    /// leaves them to expire. Only the first end of a claim sends anything, and no release follows.
    pub(crate) fn shorten(&self, ttl: Duration) -> Option<Arc<Round>> {
        self.end(ClaimEnd::LeftToExpire).then(|| {
            self.state.lock().shortened = NonZeroU64::new(millis(ttl));
            self.release_others(u64::MAX);
            self.send_end(Want::Shorten { ttl }, Goal::Majority)
        })
    }

    /// Leaves the keys to their ttl: nothing is sent of them, now or later.
    pub(crate) fn leave_to_expire(&self) {
        if self.end(ClaimEnd::LeftToExpire) {
            self.release_others(u64::MAX);
        }
    }

    /// True if the claim had not ended before.
    fn end(&self, ending: ClaimEnd) -> bool {
        let mut state = self.state.lock();
        if state.ending.is_some() {
            // The acquisition of a claim that was narrowed goes on in the new claim.
            return false;
        }
        // From here on the acquisition goes to no other server of a Redis Cluster.
        state.acquisition.retract();
        state.ending = Some(ending);
        true
    }

    pub(super) fn send_release(&self) -> Arc<Round> {
        let want = Want::Release {
            ttl: self.longest_ttl(),
        };
        let operation = Arc::new(self.operation(want));
        let unheard = self.unheard_release(want);
        self.send_to(u64::MAX, Goal::FreeOfUs, |at| match &unheard {
            Some((all, seats)) if seats & at != 0 => Arc::clone(all),
            _ => Arc::clone(&operation),
        })
    }

    pub(super) fn send_end(&self, want: Want, goal: Goal) -> Arc<Round> {
        let operation = Arc::new(self.operation(want));
        self.send_to(u64::MAX, goal, |_| Arc::clone(&operation))
    }

    /// Sends what ends the claim, or a part of it, to those of `wanted` that the acquisition may have
    /// reached.
    pub(super) fn send_to(
        &self,
        wanted: u64,
        goal: Goal,
        operation: impl Fn(u64) -> SharedOperation,
    ) -> Arc<Round> {
        let (seats, anothers) = {
            let mut state = self.state.lock();
            state.is_doubled |= state.acquisition.names(&self.token);
            let acquisition = state.acquisition.seats();
            // The acquisition may never have reached a node where the key was put back.
            let seats = (state.extension_proof.restored_seats() | acquisition.reached) & wanted;
            // At a node that did not grant, our token may be the key of a copy of this process, which
            // we must not delete.
            let anothers = if state.is_doubled {
                seats & !acquisition.took
            } else {
                0
            };
            (seats & !anothers, anothers)
        };
        let round = Round::new(self.nodes.len(), goal);
        round.submit_or(&self.nodes, |seat| match bit(seat) {
            at if seats & at != 0 => Ok(operation(at)),
            at if anothers & at != 0 => Err(Answer::Failed(anothers_perhaps())),
            _ => Err(Answer::Absent),
        });
        if anothers != 0 {
            self.report_double();
        }
        round
    }

    fn report_double(&self) {
        let token = self.token.short_id();
        log!(
            error,
            resource = %self.keys,
            token,
            "a node already had the lock's keys with the token that was drawn for this attempt \
             alone: another process draws the same random numbers, as copies of a running machine \
             may. Keys that may be the other process's are left until their ttl; restart all copies \
             but one",
        );
    }
}
