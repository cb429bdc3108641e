//! Tools for tests of nodes. [`ask`] and [`submit`] send a call to a node. A [`QuorumWatch`] watches keys, and
//! [`permit_key`] returns the keys of permits.
//!
//! Other types have methods for tests, such as [`OwnerToken::draw`], [`LeaseHandle::lose_keys`] and
//! [`MemoryNode::cut`].
//!
//! [`OwnerToken::draw`]: crate::node::OwnerToken::draw
//! [`LeaseHandle::lose_keys`]: crate::LeaseHandle::lose_keys
//! [`MemoryNode::cut`]: crate::MemoryNode::cut

use std::sync::Arc;
use std::time::Duration;

use crate::kinds::{self, ProtocolArgs, any_kind};
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::{Call, Node, Script, Vote};
use crate::quorum::lock_protocol::LockProtocol;
use crate::quorum::round::{Goal, Round};
use crate::request::Request;

pub use crate::kinds::permits::key_of as permit_key;
pub use crate::waiting::quorum_watch::QuorumWatch;

/// Sends one call to one node, and waits for its answer without a time limit.
///
/// Dropping the future does not stop the call.
pub async fn ask(node: &dyn Node, call: Call) -> Vote {
    submit(node, call).vote().await
}

/// Submits `call` to a node at once, on the current thread. Returns the answer, which may still be under way.
pub fn submit(node: &dyn Node, call: Call) -> Asked {
    let round = Round::new(1, call, Goal::All);
    round.send_to(node, 0);
    Asked(round)
}

/// The answer to a call, which may still be under way. Dropping the answer does not stop the call.
#[must_use]
pub struct Asked(Arc<Round>);

impl Asked {
    /// Returns the vote, if the node has answered.
    pub fn answered(&self) -> Option<Vote> {
        self.0.answers().pop().flatten()
    }

    /// Waits for the answer without a time limit.
    pub async fn vote(self) -> Vote {
        self.0.decided().await;
        self.answered().unwrap_or(Vote::Absent)
    }
}

/// The calls by which a client acquires, extends and releases one lock.
///
/// ```
/// # use std::time::Duration;
/// # use redlock_core::testing::{Calls, ask};
/// # use redlock_core::node::{OwnerToken, Vote};
/// # use redlock_core::{IoThread, MemoryNode, Request};
/// # let io = IoThread::start().unwrap();
/// # io.handle().block_on(async {
/// let node = MemoryNode::new("a", io.environment().clock);
/// let token = OwnerToken::draw("web-7/3121", &*io.environment().entropy);
/// let (calls, ttl) = (Calls::of(&Request::new("order:42"), b""), Duration::from_secs(30));
/// assert_eq!(ask(&node, calls.acquire(&token, ttl, 0)).await, Vote::GRANTED);
/// assert_eq!(ask(&node, calls.release(&token, ttl, true)).await, Vote::GRANTED);
/// # });
/// ```
#[derive(Clone)]
pub struct Calls(Arc<dyn LockProtocol>);

impl Calls {
    /// Returns the calls for `request`, whose names have the key prefix `prefix`. The caller of this request does not
    /// wait.
    pub fn of(request: &Request, prefix: &[u8]) -> Self {
        Self(request.kind.protocol(&ProtocolArgs {
            keys: &request.resource.with_prefix(prefix),
            prefix,
            is_fenced: request.fencing,
            advice: None,
        }))
    }

    /// Builds the call that acquires the lock. `hint` is the time in µs since 1970, for a lock with a fencing token.
    pub fn acquire(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call {
        self.0.acquire_call(token, ttl, hint)
    }

    /// Builds the call that extends the lock.
    pub fn extend(&self, token: &OwnerToken, ttl: Duration) -> Call {
        self.0.extend_call(token, ttl)
    }

    /// Builds the call that releases a lease, or a failed attempt if `is_lease` is false. `until` is the longest time
    /// for which the keys may live.
    pub fn release(&self, token: &OwnerToken, until: Duration, is_lease: bool) -> Call {
        self.0.release_call(token, until, is_lease)
    }

    /// Returns the calls for the permit that `vote` granted to `acquisition`, if it granted a permit.
    pub fn chosen(&self, acquisition: &Call, vote: &Vote) -> Option<Self> {
        let Vote::Granted { choice, .. } = vote else {
            return None;
        };
        self.0
            .choose_permit(acquisition.token()?, (*choice)?)
            .map(Self)
    }

    /// Returns the keys of the lock.
    pub fn keys(&self) -> &Resource {
        self.0.keys()
    }
}

/// Returns all scripts of the library.
pub fn scripts() -> impl Iterator<Item = &'static Script> {
    kinds::SCRIPTS.into_iter()
}

/// Builds the call that reports the first existing key, its value and its remaining time.
pub fn peek(keys: &Resource) -> Call {
    any_kind::peek(keys)
}

/// Returns the keys that say who holds `key`, by any kind of lock. `key` is one name, with the key prefix `prefix`.
pub fn every_key(key: &Resource, prefix: &[u8]) -> Resource {
    kinds::every_key(key, prefix)
}
