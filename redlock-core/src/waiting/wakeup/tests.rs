//! Watches on a clock that the test owns, over nodes that say what the test says, and in-process ones.

use std::sync::atomic::AtomicUsize;
use std::task::Wake;
use std::time::Duration;

use super::*;
use crate::MemoryNode;
use crate::env::still_clock::still_clock;
use crate::node::{
    Call, Holding, Node, NodeError, NodeErrorKind, NodeStatus, Reply, Vote, VoteReceiver as _,
};
use crate::quorum::round::Goal;

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

    fn submit(&self, _call: Arc<Call>, reply: Reply) {
        drop(reply);
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

const ALL: u64 = u64::MAX;

fn held(ms: u64) -> KeyReport {
    KeyReport::Held(Remaining::Expires(Duration::from_millis(ms)))
}

fn key() -> Resource {
    Resource::from("r")
}

#[test]
fn a_majority_that_is_free_wakes_and_fewer_do_not() {
    let (_, clock) = still_clock();
    let (tellers, nodes) = tellers(5);
    let watch = QuorumWatch::begin(&clock, &nodes, &key(), ALL);
    let mut waiter = Waiter::of(&watch);
    for teller in &tellers[..2] {
        teller.say(KeyReport::Free);
        teller.say(KeyReport::Free);
    }
    assert!(!waiter.was_woken() && !waiter.is_done());
    tellers[4].say(KeyReport::Free);
    assert!(waiter.was_woken() && waiter.is_done());
}

#[test]
fn what_was_free_before_anybody_waited_counts() {
    let (_, clock) = still_clock();
    let (tellers, nodes) = tellers(1);
    let watch = QuorumWatch::begin(&clock, &nodes, &key(), ALL);
    tellers[0].say(KeyReport::Free);
    let mut free = Box::pin(watch.free());
    let mut context = Context::from_waker(Waker::noop());
    assert!(free.as_mut().poll(&mut context).is_ready());
}

#[test]
fn a_key_that_is_taken_again_is_not_free() {
    let (_, clock) = still_clock();
    let (tellers, nodes) = tellers(3);
    let watch = QuorumWatch::begin(&clock, &nodes, &key(), ALL);
    let mut waiter = Waiter::of(&watch);
    tellers[0].say(KeyReport::Free);
    tellers[0].say(held(1000));
    tellers[1].say(KeyReport::Free);
    assert!(!waiter.is_done());
}

#[test]
fn it_is_the_majority_of_the_configured_nodes_and_other_seats_do_not_count() {
    let (_, clock) = still_clock();
    let (tellers, nodes) = tellers(5);
    let watch = QuorumWatch::begin(&clock, &nodes, &key(), 0b01110);
    let asked = |teller: &Arc<Teller>| teller.0.lock().len();
    assert_eq!(
        tellers.iter().map(asked).collect::<Vec<_>>(),
        [0, 1, 1, 1, 0]
    );
    let mut waiter = Waiter::of(&watch);
    tellers[1].say(KeyReport::Free);
    tellers[2].say(KeyReport::Free);
    assert!(!waiter.is_done());
    tellers[3].say(KeyReport::Free);
    assert!(waiter.is_done());
}

/// The votes of an attempt; node 0 refused it.
fn refused(nodes: usize) -> Arc<Round> {
    let refusal = Round::new(nodes, Goal::Majority);
    refusal.vote(0, Vote::Held(Holding::default()));
    refusal
}

fn failed() -> Vote {
    Vote::Failed(NodeError::unsent(NodeErrorKind::NotConnected, "dead"))
}

#[test]
fn a_node_that_has_still_to_vote_is_watched_and_counts_once_it_has() {
    let (_, clock) = still_clock();
    let (tellers, nodes) = tellers(3);
    let refusal = refused(3);
    refusal.vote(2, failed());
    let watch = QuorumWatch::behind(&clock, &nodes, &key(), &refusal);
    assert!(tellers[2].0.lock().is_empty(), "it is dead");
    let mut waiter = Waiter::of(&watch);
    tellers[0].say(KeyReport::Free);
    tellers[1].say(KeyReport::Free);
    assert!(!waiter.is_done(), "it may not vote");
    refusal.vote(1, Vote::Held(Holding::default()));
    assert!(waiter.was_woken() && waiter.is_done());
}

#[test]
fn a_node_that_failed_behind_the_refusal_does_not_count_and_another_makes_up_for_it() {
    let (_, clock) = still_clock();
    let (tellers, nodes) = tellers(3);
    let refusal = refused(3);
    let watch = QuorumWatch::behind(&clock, &nodes, &key(), &refusal);
    let mut waiter = Waiter::of(&watch);
    refusal.vote(1, failed());
    tellers[0].say(KeyReport::Free);
    tellers[1].say(KeyReport::Free);
    assert!(!waiter.is_done());
    tellers[2].say(KeyReport::Free);
    refusal.vote(2, Vote::GRANTED);
    assert!(waiter.was_woken() && waiter.is_done());
}

#[test]
fn a_watch_that_is_dropped_keeps_no_waker_at_the_votes() {
    let (_, clock) = still_clock();
    let (_tellers, nodes) = tellers(3);
    let refusal = refused(3);
    let watch = QuorumWatch::behind(&clock, &nodes, &key(), &refusal);
    let woken = Arc::clone(&Waiter::of(&watch).woken);
    drop(watch);
    assert_eq!(Arc::strong_count(&woken), 1);
}

#[test]
fn an_expiry_that_was_named_passes_on_our_clock() {
    let (still, clock) = still_clock();
    let (tellers, nodes) = tellers(3);
    let watch = QuorumWatch::begin(&clock, &nodes, &key(), ALL);
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
fn an_extension_moves_the_moment_without_waking_anybody() {
    let (still, clock) = still_clock();
    let (tellers, nodes) = tellers(1);
    let watch = QuorumWatch::begin(&clock, &nodes, &key(), ALL);
    let mut waiter = Waiter::of(&watch);
    tellers[0].say(held(100));
    assert!(waiter.was_woken() && !waiter.is_done());
    tellers[0].say(held(500));
    assert!(!waiter.was_woken());
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
fn a_key_that_never_expires_is_waited_for_until_it_is_deleted() {
    let (still, clock) = still_clock();
    let (tellers, nodes) = tellers(1);
    let watch = QuorumWatch::begin(&clock, &nodes, &key(), ALL);
    let mut waiter = Waiter::of(&watch);
    for remaining in [Remaining::Never, Remaining::Unknown, Remaining::NotALock] {
        tellers[0].say(KeyReport::Held(remaining));
        still.advance(Duration::from_secs(1_000_000));
        assert!(!waiter.is_done());
    }
    tellers[0].say(KeyReport::Free);
    assert!(waiter.is_done());
}

#[test]
fn a_node_that_goes_blind_is_free_no_more_and_the_expiry_that_it_named_stands() {
    let (still, clock) = still_clock();
    let (tellers, nodes) = tellers(3);
    let watch = QuorumWatch::begin(&clock, &nodes, &key(), ALL);
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
    let watch = QuorumWatch::begin(&clock, &nodes, &key(), ALL);
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

#[test]
fn a_node_that_cannot_watch_is_blind() {
    struct Plain;
    impl Node for Plain {
        fn name(&self) -> &'static str {
            "plain"
        }

        fn submit(&self, _call: Arc<Call>, reply: Reply) {
            drop(reply);
        }

        fn drained(&self) -> bool {
            true
        }

        fn status(&self) -> NodeStatus {
            NodeStatus::Voting
        }
    }
    let (still, clock) = still_clock();
    let nodes: NodeSet = Arc::new([Arc::new(Plain) as Arc<dyn Node>]);
    let watch = QuorumWatch::begin(&clock, &nodes, &key(), ALL);
    let mut waiter = Waiter::of(&watch);
    still.advance(Duration::from_secs(1_000_000));
    assert!(!waiter.is_done());
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
    let watch = QuorumWatch::begin(&clock, &set, &Resource::all(["a", "b"]), ALL);
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
fn an_in_process_node_tells_of_expiries() {
    let (still, clock) = still_clock();
    let (nodes, set) = in_memory(3, &clock);
    for node in &nodes {
        node.put(b"r", b"x", TTL);
    }
    let watch = QuorumWatch::begin(&clock, &set, &key(), ALL);
    let mut waiter = Waiter::of(&watch);
    still.advance(TTL);
    assert!(waiter.was_woken() && waiter.is_done());
}

#[test]
fn an_in_process_node_that_is_cut_off_is_blind_until_it_is_restored() {
    let (_, clock) = still_clock();
    let (nodes, set) = in_memory(1, &clock);
    nodes[0].put(b"r", b"x", TTL);
    nodes[0].cut();
    let watch = QuorumWatch::begin(&clock, &set, &key(), ALL);
    let mut waiter = Waiter::of(&watch);
    nodes[0].delete(b"r");
    assert!(!waiter.is_done());
    nodes[0].restore();
    assert!(waiter.was_woken() && waiter.is_done());
}

#[test]
fn an_in_process_node_forgets_those_who_went_away() {
    let (_, clock) = still_clock();
    let (nodes, set) = in_memory(1, &clock);
    nodes[0].put(b"r", b"x", TTL);
    let all_reports: Vec<_> = (0..10)
        .map(|_| {
            let watch = QuorumWatch::begin(&clock, &set, &key(), ALL);
            Arc::downgrade(&watch.reports)
        })
        .collect();
    let left = all_reports
        .iter()
        .filter(|reports| reports.strong_count() > 0);
    assert!(left.count() <= 1);
}
