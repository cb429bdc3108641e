//! The trait `Node`, with the duties of its implementations.

use std::sync::Arc;

use super::watch::{KeyReport, Watch};
use super::{NodeHealth, NodeStatus, Submission, identity};

/// An independent node: a Redis server, an in-process store, a simulated one, or one of your own.
///
/// # Contract
/// * Each call is atomic over all its keys.
/// * Calls of one connection that have a key in common are served in the order in which they were submitted. A release
///   after an acquisition undoes it, even if the acquisition's answer never came. A node repeats an acquisition only if
///   the server certainly did not run it and its release follows it.
/// * If a connection breaks, the node repeats each unanswered release first on the next connection, until the ttl that
///   the release names has passed. It also repeats a release that is answered with an error. So the node serves each
///   release, or still owes it.
/// * The number of calls in flight is bounded. Beyond the bound, and without a connection, the node refuses calls at
///   once.
/// * If the server stops answering, the node fails the calls in flight within seconds, and still owes their releases. It
///   abstains until the server answers again.
/// * A node that may have forgotten locks begins a new [epoch](Node::epoch). It abstains until all locks that it may
///   have granted are over.
/// * The node answers every submission exactly once. A drop counts as an answer: the outcome is unknown.
/// * Methods return at once and do not panic. The library catches a panic only in [`submit`](Node::submit). It calls
///   the other methods directly, and [`epoch`](Node::epoch) under a mutex.
///
/// A node that passes its calls on to another node implements every method, even those with a default. The default of
/// [`epoch`](Node::epoch) would hide that the other node forgot locks.
pub trait Node: Send + Sync + 'static {
    /// Returns the pool's name, for errors and logs.
    fn name(&self) -> &str;

    /// Passes a call to the node. Returns at once, never blocks, and may be called from `Drop` and from any thread. The
    /// node may answer the call before this returns. A panic in here is logged. The call's outcome is then unknown,
    /// unless the node has answered it.
    fn submit(&self, submission: Submission);

    /// Returns the last known status of the node. A node that has just answered several acquisitions or releases with
    /// errors abstains.
    fn status(&self) -> NodeStatus;

    /// Returns figures about the node, for operators. The default sets only
    /// [`is_connected`](NodeHealth::is_connected): true if the node votes.
    fn health(&self) -> NodeHealth {
        let is_connected = matches!(self.status(), NodeStatus::Voting);
        NodeHealth {
            is_connected,
            ..NodeHealth::default()
        }
    }

    /// Reports to `watch` on its keys while the watch is wanted: whether they exist, their remaining time, and each
    /// change by any client. Returns at once, never blocks, and may be called from any thread. A late, missing or wrong
    /// report costs only time, because a waiting caller also retries on its own, and sooner if too few nodes have
    /// reported. The default reports [`Unknown`](KeyReport::Unknown).
    fn watch(&self, watch: Watch) {
        watch.report(KeyReport::Unknown);
    }

    /// True if the node has hash slots, as a Redis Cluster does. It then serves a call only if all keys of the call are
    /// in one slot.
    fn has_hash_slots(&self) -> bool {
        false
    }

    /// True if the node has answered all calls, and owes no release.
    fn drained(&self) -> bool;

    /// True if each call has been sent, or if there is no connection on which to send it. The default is for a node
    /// that sends each call in [`submit`](Node::submit).
    fn dispatched(&self) -> bool {
        true
    }

    /// Returns the present epoch. It increases each time that the node may have forgotten its grants, or dropped them
    /// early: after a restart, a flush, or a step of its clock. A grant of an earlier epoch no longer counts. The
    /// library calls this under a mutex, so it must not block, panic, or call the library. The default suits a node
    /// that never forgets.
    fn epoch(&self) -> u32 {
        0
    }

    /// Calls `listener`, on any thread, each time that the epoch increases. The listener must not block or panic. The
    /// default never calls it, because it is for a node that keeps its memory.
    fn on_new_epoch(&self, listener: EpochListener) {
        let _ = listener;
    }
}

/// The configured nodes of a lock. A majority of all of them decides, even if some are down.
pub type NodeSet = Arc<[Arc<dyn Node>]>;

/// A listener for new epochs; see [`Node::on_new_epoch`].
pub type EpochListener = Arc<dyn Fn() + Send + Sync>;

/// Returns the seat of `node` in `nodes`, if it is one of them. The address in memory decides, and not the name.
pub fn seat_of(nodes: &NodeSet, node: &Arc<dyn Node>) -> Option<usize> {
    nodes.iter().position(|it| identity(it) == identity(node))
}
