//! What a test of a node needs: [`ask`] puts an operation to it, and a [`QuorumWatch`] has it tell of
//! keys.
//!
//! Methods for tests stand at their types: [`OwnerToken::draw`], [`LeaseHandle::lose_keys`],
//! [`MemoryNode::serve`] and [`MemoryNode::fork`].
//!
//! [`OwnerToken::draw`]: crate::node::OwnerToken::draw
//! [`LeaseHandle::lose_keys`]: crate::LeaseHandle::lose_keys
//! [`MemoryNode::serve`]: crate::MemoryNode::serve
//! [`MemoryNode::fork`]: crate::MemoryNode::fork

use std::sync::Arc;

use crate::node::operation::Operation;
use crate::node::{Answer, Node, Reply};
use crate::quorum::round::{Goal, Round};

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
