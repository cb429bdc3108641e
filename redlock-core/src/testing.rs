//! What a test of a node needs: [`ask`] puts an operation to it, and a [`QuorumWatch`] has it tell of
//! keys. [`run_keys`] and [`remembered_for`] are about runs that a node remembers, [`permit_key`] about permits.
//!
//! Methods for tests stand at their types: [`OwnerToken::draw`], [`LeaseHandle::lose_keys`],
//! [`MemoryNode::serve`] and [`MemoryNode::fork`].
//!
//! [`OwnerToken::draw`]: crate::node::OwnerToken::draw
//! [`LeaseHandle::lose_keys`]: crate::LeaseHandle::lose_keys
//! [`MemoryNode::serve`]: crate::MemoryNode::serve
//! [`MemoryNode::fork`]: crate::MemoryNode::fork

use std::sync::Arc;
use std::time::Duration;

use crate::kinds;
use crate::model::resource::Resource;
use crate::node::operation::Operation;
use crate::node::script::Script;
use crate::node::{Answer, Node, Reply};
use crate::quorum::permits::key_of;
use crate::quorum::round::{Goal, Round};
use crate::quorum::runs;

pub use crate::waiting::wakeup::QuorumWatch;

/// Asks one node one thing and waits for its answer, however long that takes.
///
/// Dropping the future leaves the operation on its way.
pub async fn ask(node: &dyn Node, operation: Operation) -> Answer {
    let round = Round::new(1, Goal::All);
    node.submit(Arc::new(operation), Reply::new(Arc::clone(&round), 0));
    round.decided().await;
    round.answers().pop().flatten().unwrap_or(Answer::Absent)
}

/// All scripts of the library, each with its twin.
pub fn scripts() -> impl Iterator<Item = &'static Script> {
    kinds::scripts()
}

/// The keys that remember the runs of the lock on `keys`, which have the key prefix `prefix`.
pub fn run_keys(keys: &Resource, prefix: &[u8]) -> Resource {
    runs::run_keys(keys, prefix)
}

/// The key of `permit` of the lock on `key`, which has the key prefix `prefix`.
pub fn permit_key(key: &Resource, prefix: &[u8], permit: u16) -> Resource {
    key_of(key, permit, prefix)
}

/// The time for which a run is remembered, counted from its beginning.
pub fn remembered_for(period: Duration) -> Duration {
    runs::remembered_for(period)
}
