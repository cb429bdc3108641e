//! Watches on a clock that the test owns, over nodes that say what the test says, and in-process ones.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake};
use std::time::Duration;

use super::*;
use crate::MemoryNode;
use crate::env::still_clock::still_clock;
use crate::node::{Node, NodeStatus, Submission};

/// Says what the test says.
#[derive(Default)]
struct Teller(Mutex<Vec<Watch>>);

impl Teller {
    fn say(&self, key_report: KeyReport) {
        for watch in &*self.0.lock() {
            watch.report(key_report);
        }
    }

    fn leave(&self) {
        self.0.lock().clear();
    }
}

impl Node for Teller {
    fn name(&self) -> &'static str {
        "teller"
    }

    fn submit(&self, submission: Submission) {
        drop(submission);
    }

    fn drained(&self) -> bool {
        true
    }

    fn status(&self) -> NodeStatus {
        NodeStatus::Voting
    }

    fn watch(&self, watch: Watch) {
        self.0.lock().push(watch);
    }
}

fn tellers(n: usize) -> (Vec<Arc<Teller>>, NodeSet) {
    let tellers: Vec<Arc<Teller>> = (0..n).map(|_| Arc::default()).collect();
    let nodes = tellers.iter().map(|teller| Arc::clone(teller) as _);
    (tellers.clone(), nodes.collect())
}

/// Somebody who waits, and how often they were woken.
struct Waiter<'a> {
    waiting: Pin<Box<dyn Future<Output = ()> + 'a>>,
    woken: Arc<Woken>,
}

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl<'a> Waiter<'a> {
    fn of(watch: &'a QuorumWatch) -> Self {
        let mut waiter = Self {
            waiting: Box::pin(watch.free()),
            woken: Arc::default(),
        };
        assert!(!waiter.is_done());
        waiter
    }

    /// Polls, as an executor would that heard a waker.
    fn is_done(&mut self) -> bool {
        let waker = Arc::clone(&self.woken).into();
        let mut context = Context::from_waker(&waker);
        self.waiting.as_mut().poll(&mut context).is_ready()
    }

    /// Whether it was woken since it was last asked.
    fn was_woken(&self) -> bool {
        self.woken.0.swap(0, Ordering::Relaxed) > 0
    }
}

fn held(ms: u64) -> KeyReport {
    KeyReport::Held(Remaining::Expires(Duration::from_millis(ms)))
}

fn key() -> Resource {
    Resource::from("r")
}

#[test]
fn the_lock_is_free_once_a_majority_of_the_configured_nodes_holds_no_key() {
    use KeyReport::{Free, Held, Unknown};
    let taken = held(1000);
    let never = Held(Remaining::Never);
    for (reports, is_free) in [
        (&[(0, Free), (0, Free), (1, Free)][..], false),
        (&[(0, Free), (1, Free), (4, Free)], true),
        (&[(0, Free), (0, taken), (1, Free), (2, Free)], false),
        (&[(0, Free), (0, Unknown), (1, Free), (2, Free)], false),
        (&[(0, never), (1, Free), (2, Free)], false),
    ] {
        let (_, clock) = still_clock();
        let (tellers, nodes) = tellers(5);
        let watch = QuorumWatch::begin(&clock, &nodes, &key());
        let mut waiter = Waiter::of(&watch);
        for (seat, report) in reports {
            assert!(!waiter.is_done(), "{reports:?}");
            tellers[*seat].say(*report);
        }
        assert_eq!(waiter.is_done(), is_free, "{reports:?}");
        let mut late = Box::pin(watch.free());
        let mut context = Context::from_waker(Waker::noop());
        assert_eq!(late.as_mut().poll(&mut context).is_ready(), is_free);
        assert!(!is_free || waiter.was_woken());
    }
}

#[test]
fn an_expiry_that_was_named_passes_on_our_clock() {
    let (still, clock) = still_clock();
    let (tellers, nodes) = tellers(3);
    let watch = QuorumWatch::begin(&clock, &nodes, &key());
    let mut waiter = Waiter::of(&watch);
    for (teller, ms) in tellers.iter().zip([100, 300, 200]) {
        teller.say(held(ms));
    }
    assert!(waiter.was_woken(), "to set a timer");
    assert!(!waiter.is_done());
    still.advance(Duration::from_millis(199));
    assert!(!waiter.is_done());
    still.advance(Duration::from_millis(1));
    assert!(
        waiter.was_woken() && waiter.is_done(),
        "two of three are over"
    );
}

#[test]
fn an_extension_moves_the_moment() {
    let (still, clock) = still_clock();
    let (tellers, nodes) = tellers(1);
    let watch = QuorumWatch::begin(&clock, &nodes, &key());
    let mut waiter = Waiter::of(&watch);
    tellers[0].say(held(100));
    assert!(waiter.was_woken() && !waiter.is_done());
    tellers[0].say(held(500));
    assert!(!waiter.is_done());
    still.advance(Duration::from_millis(499));
    assert!(!waiter.is_done());
    tellers[0].say(held(400));
    still.advance(Duration::from_millis(2));
    assert!(!waiter.is_done(), "extended again");
    tellers[0].say(held(50));
    assert!(waiter.was_woken(), "shortened");
    assert!(!waiter.is_done());
    still.advance(Duration::from_millis(50));
    assert!(waiter.was_woken() && waiter.is_done());
}

#[test]
fn a_node_that_goes_blind_is_free_no_more_and_the_expiry_that_it_named_stands() {
    let (still, clock) = still_clock();
    let (tellers, nodes) = tellers(3);
    let watch = QuorumWatch::begin(&clock, &nodes, &key());
    let mut waiter = Waiter::of(&watch);
    tellers[0].say(KeyReport::Free);
    tellers[0].leave();
    tellers[1].say(KeyReport::Free);
    assert!(!waiter.is_done());
    tellers[2].say(held(100));
    tellers[2].say(KeyReport::Unknown);
    still.advance(Duration::from_millis(100));
    assert!(waiter.is_done());
}

#[test]
fn a_watch_that_is_dropped_wants_nothing_and_keeps_no_waker() {
    let (_, clock) = still_clock();
    let (tellers, nodes) = tellers(1);
    let watch = QuorumWatch::begin(&clock, &nodes, &key());
    let woken = {
        let waiter = Waiter::of(&watch);
        Arc::clone(&waiter.woken)
    };
    assert!(tellers[0].0.lock()[0].is_wanted());
    drop(watch);
    assert!(!tellers[0].0.lock()[0].is_wanted());
    assert_eq!(Arc::strong_count(&woken), 1);
    tellers[0].say(KeyReport::Free);
}

fn in_memory(n: usize, clock: &Arc<dyn Clock>) -> (Vec<MemoryNode>, NodeSet) {
    let nodes: Vec<_> = (0..n)
        .map(|_| MemoryNode::new("m", Arc::clone(clock)))
        .collect();
    let set = nodes.iter().map(|node| Arc::new(node.clone()) as _);
    (nodes.clone(), set.collect())
}

const TTL: Duration = Duration::from_secs(10);

#[test]
fn an_in_process_node_tells_of_releases_and_extensions() {
    let (still, clock) = still_clock();
    let (nodes, set) = in_memory(1, &clock);
    nodes[0].put(b"a", b"x", TTL);
    let watch = QuorumWatch::begin(&clock, &set, &Resource::all(["a", "b"]));
    let mut waiter = Waiter::of(&watch);
    nodes[0].put(b"b", b"x", TTL * 2);
    nodes[0].delete(b"a");
    still.advance(TTL);
    assert!(!waiter.is_done(), "one of the two is there");
    nodes[0].put(b"b", b"x", TTL * 2);
    still.advance(TTL);
    assert!(!waiter.is_done(), "and lives longer");
    nodes[0].delete(b"b");
    assert!(waiter.was_woken() && waiter.is_done());
}

#[test]
fn an_in_process_node_forgets_those_who_went_away() {
    let (_, clock) = still_clock();
    let (nodes, set) = in_memory(1, &clock);
    nodes[0].put(b"r", b"x", TTL);
    let all_reports: Vec<_> = (0..10)
        .map(|_| {
            let watch = QuorumWatch::begin(&clock, &set, &key());
            Arc::downgrade(&watch.reports)
        })
        .collect();
    let left = all_reports
        .iter()
        .filter(|reports| reports.strong_count() > 0);
    assert!(left.count() <= 1);
}

fn has_changed(watch: &QuorumWatch) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    pin!(watch.changed()).poll(&mut context).is_ready()
}

#[test]
fn a_majority_that_reports_is_a_change_and_fewer_are_not() {
    let (_, clock) = still_clock();
    let (nodes, set) = in_memory(3, &clock);
    let watch = QuorumWatch::begin(&clock, &set, &key());
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
fn another_holder_whose_keys_end_alike_is_a_change() {
    let (_, clock) = still_clock();
    let (nodes, set) = in_memory(3, &clock);
    let put = |seats: usize, value: &[u8]| {
        nodes[..seats]
            .iter()
            .for_each(|node| node.put(b"r", value, TTL));
    };
    put(3, b"x");
    let watch = QuorumWatch::begin(&clock, &set, &key());
    let has_moved = || {
        let mut context = Context::from_waker(Waker::noop());
        pin!(watch.moved()).poll(&mut context).is_ready()
    };
    put(3, b"x");
    put(1, b"y");
    assert!(!has_moved(), "one node, and two that report the same");
    put(2, b"y");
    assert!(has_moved());
}

#[test]
fn a_node_that_is_cut_off_tells_nothing_and_reports_when_it_is_back() {
    let (_, clock) = still_clock();
    let (nodes, set) = in_memory(1, &clock);
    let watch = QuorumWatch::begin(&clock, &set, &key());
    assert!(has_changed(&watch) && !watch.is_blind());
    nodes[0].cut();
    assert!(watch.is_blind() && !has_changed(&watch));
    nodes[0].restore();
    assert!(has_changed(&watch) && !watch.is_blind());
}
