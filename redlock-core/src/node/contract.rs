//! The contract of a node: the calls that it receives, and its duties.

use std::sync::Arc;

use super::watch::{KeyReport, Watch};
use super::{NodeHealth, NodeStatus, Submission, identity};

/// An independent node: a Redis server, an in-process store, a simulated one, or one of your own.
///
/// # Contract
/// * Each call is atomic over all its keys.
/// * Calls of one connection that have a key in common are served in the order in which they were
///   submitted. A release after an acquisition undoes it, even if the acquisition's answer never came. An
///   acquisition is never sent again, unless the server certainly did not run it and its release goes behind it.
/// * If a connection breaks, a release whose answer is missing is repeated on the next one, before
///   anything else, until the ttl that it names has passed. A release that is answered with an error is
///   repeated, too. No release is lost: it is served, or it is owed.
/// * The number of calls in flight is bounded. Beyond the bound, and while there is no connection,
///   the node votes no at once.
/// * A node that may have forgotten begins a new [epoch](Node::epoch), and does not vote until all locks
///   that it may have granted are over.
/// * Every submission is answered exactly once. Dropping it is an answer: the outcome is unknown.
/// * No method blocks or panics. A panic is caught only in [`submit`](Node::submit). The library calls the other methods
///   directly, and [`epoch`](Node::epoch) under a mutex.
///
/// A node that hands its calls to another one implements every method, also those with a default: the default of
/// [`epoch`](Node::epoch) would hide that the other node forgot.
pub trait Node: Send + Sync + 'static {
    /// Returns the pool's name, for errors and logs.
    fn name(&self) -> &str;

    /// Hands a call to the node. Returns at once, never blocks, and may be called from `Drop` and
    /// from any thread. The call may be answered before this returns.
    /// A panic in here is logged; the outcome is then unknown, unless the call was answered.
    fn submit(&self, submission: Submission);

    /// Returns the node's present status, by what is known of it. A node that has just answered several acquisitions or
    /// releases with errors does not count as voting.
    fn status(&self) -> NodeStatus;

    /// Figures about the node, for operators. The default has the status alone.
    fn health(&self) -> NodeHealth {
        let is_connected = matches!(self.status(), NodeStatus::Voting);
        NodeHealth {
            is_connected,
            ..NodeHealth::default()
        }
    }

    /// Reports to `watch` on its keys while the watch is wanted: whether they exist, their remaining
    /// time, and each change by any client. Returns at once, never blocks, and may be called from any
    /// thread. A waiting caller also retries by itself, sooner if too few nodes have reported, so a late,
    /// missing or wrong report costs only time. The default reports that nothing is known.
    fn watch(&self, watch: Watch) {
        watch.report(KeyReport::Unknown);
    }

    /// True if the node keeps keys by hash slots, as a Redis Cluster does, and serves a call only
    /// if all its keys are in one slot.
    fn has_hash_slots(&self) -> bool {
        false
    }

    /// True if no call is queued or unanswered, and no release is owed.
    fn drained(&self) -> bool;

    /// True if no call waits to be handed to a connection that is there. The default is for a node that hands each
    /// call on in [`submit`](Node::submit).
    fn dispatched(&self) -> bool {
        true
    }

    /// Increases each time that the node may have forgotten its grants, or dropped them early: it
    /// restarted, was flushed, or its clock stepped. A grant of an earlier epoch no longer counts. Called
    /// under a mutex of the library: it must not block, panic, or call the library. The default is for a
    /// node that never forgets.
    fn epoch(&self) -> u32 {
        0
    }

    /// Calls `listener`, on any thread, each time that the epoch increases. It must not block or panic. The default
    /// never calls it, which is right for a node that never forgets.
    fn on_new_epoch(&self, listener: EpochListener) {
        let _ = listener;
    }
}

/// The configured nodes of a lock. A majority of these decides, whether they are up or not.
pub type NodeSet = Arc<[Arc<dyn Node>]>;

/// See [`Node::on_new_epoch`].
pub type EpochListener = Arc<dyn Fn() + Send + Sync>;

/// Returns the seat of `node` in `nodes`, if it is one of them. Two nodes of one name are not the same.
pub fn seat_of(nodes: &NodeSet, node: &Arc<dyn Node>) -> Option<usize> {
    nodes.iter().position(|it| identity(it) == identity(node))
}
