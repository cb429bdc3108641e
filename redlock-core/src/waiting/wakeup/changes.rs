//! Tells an observer that keys may have changed.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Poll, Waker};

use parking_lot::Mutex;

use crate::model::resource::Resource;
use crate::node::NodeSet;
use crate::node::watch::{KeyReport, Sightings, Watch};
use crate::quorum::majority;
use crate::quorum::round::bit;

/// The reports on the keys. Each node reports at its own seat. One observer waits for them.
struct Changes {
    keys: Resource,
    needed: u32,
    is_wanted: AtomicBool,
    state: Mutex<ChangesState>,
}

#[derive(Default)]
struct ChangesState {
    /// The seats that have reported since [`ChangeWatch::changed`] last completed.
    reported: u64,
    /// The seats whose last report says how the keys are.
    seeing: u64,
    waiting: Option<Waker>,
}

impl Sightings for Changes {
    fn keys(&self) -> &Resource {
        &self.keys
    }

    fn is_wanted(&self) -> bool {
        self.is_wanted.load(Ordering::Acquire)
    }

    fn record(&self, seat: usize, key_report: KeyReport) -> Option<Waker> {
        let mut state = self.state.lock();
        if key_report == KeyReport::Unknown {
            state.seeing &= !bit(seat);
            return None;
        }
        state.seeing |= bit(seat);
        state.reported |= bit(seat);
        if self.is_enough(state.reported) {
            state.waiting.take()
        } else {
            None
        }
    }
}

impl Changes {
    fn is_enough(&self, seats: u64) -> bool {
        seats.count_ones() >= self.needed
    }
}

/// Watches the keys of a resource for any change: an acquisition, an extension, a release or an expiry,
/// by any holder. For an observer that asks the nodes again after a change.
///
/// It begins with one report of each node about how the keys are. A majority counts and not the first
/// node: a message reaches the nodes one after another, and a question in between would find no majority.
///
/// Nothing may rely on it: a node that tracks no keys tells nothing.
pub struct ChangeWatch {
    changes: Arc<Changes>,
}

impl ChangeWatch {
    /// Watches `keys`, which have their prefix, on all nodes.
    pub(crate) fn begin(nodes: &NodeSet, keys: Resource) -> Self {
        let changes = Arc::new(Changes {
            keys,
            needed: u32::try_from(majority(nodes.len())).unwrap_or(u32::MAX),
            is_wanted: AtomicBool::new(true),
            state: Mutex::default(),
        });
        for (seat, node) in nodes.iter().enumerate() {
            let changes = Arc::clone(&changes);
            node.watch(Watch::new(changes, seat));
        }
        Self { changes }
    }

    /// Completes when a majority of the nodes has reported on the keys since it completed last. It never
    /// completes if too few nodes can tell. For one caller at a time.
    ///
    /// # Cancellation
    /// Dropping the future has no effect: no report is lost.
    pub async fn changed(&self) {
        poll_fn(|context| {
            // The old waker is dropped outside of the lock: it may be the last reference to its task.
            let mut _replaced = None;
            let mut state = self.changes.state.lock();
            if self.changes.is_enough(state.reported) {
                state.reported = 0;
                return Poll::Ready(());
            }
            _replaced = state.waiting.replace(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// True if too few nodes can tell of changes now. A node that refused to does not tell later either:
    /// a new watch asks it again.
    pub fn is_blind(&self) -> bool {
        !self.changes.is_enough(self.changes.state.lock().seeing)
    }
}

impl Drop for ChangeWatch {
    fn drop(&mut self) {
        self.changes.is_wanted.store(false, Ordering::Release);
        // The waker is dropped outside of the lock. It is dropped now, because a node may keep the watch
        // for longer.
        let _waiting = self.changes.state.lock().waiting.take();
    }
}

impl fmt::Debug for ChangeWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChangeWatch")
            .field("keys", &self.changes.keys)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Context;
    use std::time::Duration;

    use super::*;
    use crate::env::still_clock::still_clock;
    use crate::{MemoryNode, Node};

    const TTL: Duration = Duration::from_secs(10);

    fn nodes(n: usize) -> (Vec<MemoryNode>, NodeSet) {
        let (_, clock) = still_clock();
        let nodes: Vec<_> = (0..n)
            .map(|_| MemoryNode::new("m", Arc::clone(&clock)))
            .collect();
        let set = nodes
            .iter()
            .map(|node| Arc::new(node.clone()) as Arc<dyn Node>);
        (nodes.clone(), set.collect())
    }

    fn has_changed(watch: &ChangeWatch) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        pin!(watch.changed()).poll(&mut context).is_ready()
    }

    #[test]
    fn a_majority_that_reports_is_a_change_and_fewer_are_not() {
        let (nodes, set) = nodes(3);
        let watch = ChangeWatch::begin(&set, "r".into());
        assert!(has_changed(&watch), "the first reports");
        assert!(!has_changed(&watch));
        nodes[0].put(b"r", b"x", TTL);
        nodes[0].put(b"r", b"y", TTL);
        assert!(!has_changed(&watch), "one node, twice");
        nodes[1].put(b"r", b"x", TTL);
        assert!(has_changed(&watch));
        assert!(!has_changed(&watch));
        for node in &nodes {
            node.delete(b"r");
        }
        assert!(has_changed(&watch));
    }

    #[test]
    fn a_node_that_is_cut_off_tells_nothing_and_reports_when_it_is_back() {
        let (nodes, set) = nodes(1);
        let watch = ChangeWatch::begin(&set, "r".into());
        assert!(has_changed(&watch) && !watch.is_blind());
        nodes[0].cut();
        assert!(watch.is_blind() && !has_changed(&watch));
        nodes[0].restore();
        assert!(has_changed(&watch) && !watch.is_blind());
    }

    #[test]
    fn a_question_is_no_change() {
        let (_nodes, set) = nodes(1);
        let watch = ChangeWatch::begin(&set, "r".into());
        assert!(has_changed(&watch));
        let io = crate::IoThread::start().unwrap();
        let client = crate::Client::new(io.environment());
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let resource = "r".into();
        let asking = client.peek(&set, &resource);
        assert!(runtime.unwrap().block_on(asking).unwrap().is_free());
        assert!(!has_changed(&watch));
    }

    #[test]
    fn a_watch_that_is_dropped_keeps_no_waker() {
        let (_nodes, set) = nodes(1);
        let watch = ChangeWatch::begin(&set, "r".into());
        assert!(has_changed(&watch));
        let changes = Arc::clone(&watch.changes);
        assert!(!has_changed(&watch));
        assert!(changes.state.lock().waiting.is_some());
        drop(watch);
        assert!(changes.state.lock().waiting.is_none() && !changes.is_wanted());
    }
}
