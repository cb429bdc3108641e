//! What one attempt put on the nodes, and its removal.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use crate::client::NodeSet;
use crate::operation::{Operation, Want};
use crate::resource::Resource;
use crate::round::{Goal, Round};
use crate::token::OwnerToken;

/// One owner token on a set of nodes: from the moment that the acquisition is sent until its
/// release is. Dropping it sends the release, so there is no way out of an attempt or a lease that
/// forgets the nodes.
pub(crate) struct Claim {
    pub(crate) nodes: NodeSet,
    pub(crate) keys: Resource,
    pub(crate) token: OwnerToken,
    /// The acquisition's votes. Stragglers are still being counted in here.
    acquisition: Arc<Round>,
    /// The longest time in ms that any node may keep the keys without hearing from us.
    longest_ttl: AtomicU64,
    released: AtomicBool,
}

impl Claim {
    /// Sends the acquisition to all nodes at once.
    pub(crate) fn stake(nodes: &NodeSet, keys: Resource, token: OwnerToken, ttl: Duration) -> Self {
        let operation = Operation::new(keys.clone(), token.clone(), Want::Acquire { ttl });
        let acquisition = Round::start(nodes, &Arc::new(operation), Goal::Majority, |_| true);
        Self {
            nodes: Arc::clone(nodes),
            keys,
            token,
            acquisition,
            longest_ttl: AtomicU64::new(millis(ttl)),
            released: AtomicBool::new(false),
        }
    }

    pub(crate) fn acquisition(&self) -> &Round {
        &self.acquisition
    }

    /// Sends an extension to all nodes.
    pub(crate) fn extend(&self, ttl: Duration) -> Arc<Round> {
        self.longest_ttl.fetch_max(millis(ttl), Ordering::Relaxed);
        let want = Want::Extend { ttl };
        let operation = Operation::new(self.keys.clone(), self.token.clone(), want);
        Round::start(&self.nodes, &Arc::new(operation), Goal::Majority, |_| true)
    }

    /// Sends the release to every node that the acquisition may have reached, whatever it
    /// answered, behind it on the same connection. Only the first call sends anything.
    pub(crate) fn release(&self) -> Option<Arc<Round>> {
        if self.released.swap(true, Ordering::AcqRel) {
            return None;
        }
        let want = Want::Release {
            ttl: Duration::from_millis(self.longest_ttl.load(Ordering::Relaxed)),
        };
        let operation = Operation::new(self.keys.clone(), self.token.clone(), want);
        let reached = |seat| self.acquisition.may_have_reached(seat);
        Some(Round::start(
            &self.nodes,
            &Arc::new(operation),
            Goal::FreeOfUs,
            reached,
        ))
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.release();
    }
}

/// Requests are checked to be below a year.
fn millis(ttl: Duration) -> u64 {
    u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX)
}
