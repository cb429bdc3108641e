//! Tests of watches with an owned clock, over in-process nodes or with reports that the test makes.

use std::pin::{Pin, pin};
use std::task::Context;

use super::*;
use crate::MemoryNode;
use crate::env::tests::{StillClock, still_clock};
use crate::kinds::any_kind;
use crate::node::{Holding, Vote, VoteSink as _};
use crate::waiting::tests::{MS, TTL, Woken};

struct Scene {
    still: Arc<StillClock>,
    clock: Arc<dyn Clock>,
    nodes: Vec<MemoryNode>,
}

impl Scene {
    fn new(count: usize) -> Self {
        let (still, clock) = still_clock();
        let node = || MemoryNode::new("m", Arc::clone(&clock));
        let nodes = std::iter::repeat_with(node).take(count).collect();
        Self {
            still,
            clock,
            nodes,
        }
    }

    /// Creates a scene with nodes that send no reports.
    fn silent(count: usize) -> Self {
        let scene = Self::new(count);
        scene.nodes.iter().for_each(MemoryNode::cut);
        scene
    }

    fn node_set(&self) -> NodeSet {
        let nodes = self.nodes.iter().map(|node| Arc::new(node.clone()) as _);
        nodes.collect()
    }

    fn watch(&self) -> QuorumWatch {
        QuorumWatch::begin(&self.clock, &self.node_set(), &Resource::all(["r", "s"]))
    }

    /// Makes a client hold `r` on the first `seats` nodes.
    fn put(&self, seats: usize, value: &[u8]) {
        for node in &self.nodes[..seats] {
            node.put(b"r", value, TTL);
        }
    }
}

/// Sends the report of a node.
fn say(watch: &QuorumWatch, seat: usize, report: KeyReport) {
    if let Some(waker) = watch.reports.record(seat, report, None) {
        waker.wake();
    }
}

fn held(ms: u32) -> KeyReport {
    KeyReport::Held(Remaining::Expires(MS * ms))
}

fn is_ready(future: impl Future<Output = ()>) -> bool {
    let mut context = Context::from_waker(Waker::noop());
    pin!(future).poll(&mut context).is_ready()
}

/// A caller that waits until the lock is free.
struct Waiter<'a> {
    waiting: Pin<Box<dyn Future<Output = ()> + 'a>>,
    woken: Arc<Woken>,
}

impl<'a> Waiter<'a> {
    fn of(watch: &'a QuorumWatch) -> Self {
        let mut waiter = Self {
            waiting: Box::pin(watch.until_free()),
            woken: Arc::default(),
        };
        assert!(!waiter.is_done());
        waiter
    }

    /// Polls the waiting future as an executor would after a wake-up.
    fn is_done(&mut self) -> bool {
        let waker = Arc::clone(&self.woken).into();
        let mut context = Context::from_waker(&waker);
        self.waiting.as_mut().poll(&mut context).is_ready()
    }

    /// True if the caller was woken since the last call of this function.
    fn was_woken(&self) -> bool {
        self.woken.take() > 0
    }
}

#[test]
fn a_lock_is_free_once_a_majority_of_all_nodes_holds_no_key() {
    use KeyReport::{Free, Held, Unknown};
    let never = Held(Remaining::Never);
    for (reports, is_free) in [
        (&[(0, Free), (0, Free), (1, Free)][..], false),
        (&[(0, Free), (1, Free), (4, Free)], true),
        (&[(0, Free), (0, held(1000)), (1, Free), (2, Free)], false),
        (&[(0, Free), (0, Unknown), (1, Free), (2, Free)], false),
        (&[(0, never), (1, Free), (2, Free)], false),
    ] {
        let watch = Scene::silent(5).watch();
        let mut waiter = Waiter::of(&watch);
        for (seat, report) in reports {
            assert!(!waiter.is_done(), "{reports:?}");
            say(&watch, *seat, *report);
        }
        assert_eq!(waiter.is_done(), is_free, "{reports:?}");
        assert_eq!(is_ready(watch.until_free()), is_free, "one who comes late");
        assert!(!is_free || waiter.was_woken());
    }
}

#[test]
fn an_expiry_that_was_named_passes_on_our_clock() {
    let scene = Scene::silent(3);
    let watch = scene.watch();
    let mut waiter = Waiter::of(&watch);
    for (seat, ms) in [100, 300, 200].into_iter().enumerate() {
        say(&watch, seat, held(ms));
    }
    assert!(waiter.was_woken(), "to set a timer");
    assert!(!waiter.is_done());
    scene.still.advance(MS * 199);
    assert!(!waiter.is_done());
    scene.still.advance(MS);
    let is_done = waiter.was_woken() && waiter.is_done();
    assert!(is_done, "two of three are over");
}

#[test]
fn an_extension_moves_the_moment() {
    let scene = Scene::silent(1);
    let watch = scene.watch();
    let mut waiter = Waiter::of(&watch);
    say(&watch, 0, held(100));
    assert!(waiter.was_woken() && !waiter.is_done());
    say(&watch, 0, held(500));
    assert!(!waiter.is_done());
    scene.still.advance(MS * 499);
    assert!(!waiter.is_done());
    say(&watch, 0, held(400));
    scene.still.advance(MS * 2);
    assert!(!waiter.is_done(), "extended again");
    say(&watch, 0, held(50));
    assert!(waiter.was_woken(), "shortened");
    assert!(!waiter.is_done());
    scene.still.advance(MS * 50);
    assert!(waiter.was_woken() && waiter.is_done());
}

#[test]
fn a_node_that_goes_blind_is_not_free_and_its_expiry_stands() {
    let scene = Scene::silent(3);
    let watch = scene.watch();
    let mut waiter = Waiter::of(&watch);
    for (seat, report) in [
        (0, KeyReport::Free),
        (0, KeyReport::Unknown),
        (1, KeyReport::Free),
    ] {
        say(&watch, seat, report);
    }
    assert!(!waiter.is_done());
    say(&watch, 2, held(100));
    say(&watch, 2, KeyReport::Unknown);
    scene.still.advance(MS * 100);
    assert!(waiter.is_done());
}

#[test]
fn a_watch_that_is_dropped_wants_nothing_and_keeps_no_waker() {
    let watch = Scene::silent(1).watch();
    let woken = Arc::clone(&Waiter::of(&watch).woken);
    let reports = Arc::clone(&watch.reports);
    assert!(reports.is_wanted());
    drop(watch);
    assert!(!reports.is_wanted());
    assert_eq!(Arc::strong_count(&woken), 1);
}

#[test]
fn an_in_process_node_tells_of_releases_and_extensions() {
    let scene = Scene::new(1);
    let node = &scene.nodes[0];
    node.put(b"r", b"x", TTL);
    let watch = scene.watch();
    let mut waiter = Waiter::of(&watch);
    node.put(b"s", b"x", TTL * 2);
    node.delete(b"r");
    scene.still.advance(TTL);
    assert!(!waiter.is_done(), "one of the two is there");
    node.put(b"s", b"x", TTL * 2);
    scene.still.advance(TTL);
    assert!(!waiter.is_done(), "and lives longer");
    node.delete(b"s");
    assert!(waiter.was_woken() && waiter.is_done());
}

#[test]
fn an_in_process_node_forgets_those_who_went_away() {
    let scene = Scene::new(1);
    let gone: Vec<_> = (0..10)
        .map(|_| Arc::downgrade(&scene.watch().reports))
        .collect();
    let left = gone.iter().filter(|reports| reports.strong_count() > 0);
    assert!(left.count() <= 1);
}

#[test]
fn a_majority_that_reports_is_a_change_and_fewer_are_not() {
    let scene = Scene::new(3);
    let watch = scene.watch();
    assert!(is_ready(watch.until_reported()), "the first reports");
    assert!(!is_ready(watch.until_reported()));
    scene.put(1, b"x");
    scene.put(1, b"y");
    assert!(!is_ready(watch.until_reported()), "one node, twice");
    scene.nodes[1].put(b"r", b"x", TTL);
    assert!(is_ready(watch.until_reported()));
    assert!(!is_ready(watch.until_reported()));
    for node in &scene.nodes {
        node.delete(b"r");
    }
    assert!(is_ready(watch.until_reported()));
}

#[test]
fn another_holder_whose_keys_end_alike_is_a_change() {
    let scene = Scene::new(3);
    scene.put(3, b"x");
    let watch = scene.watch();
    scene.put(3, b"x");
    scene.put(1, b"y");
    let has_changed = is_ready(watch.until_changed());
    assert!(!has_changed, "one node, and two that report the same");
    scene.put(2, b"y");
    assert!(is_ready(watch.until_changed()));
}

#[test]
fn a_node_that_is_cut_off_tells_nothing_until_it_is_back() {
    let scene = Scene::new(1);
    let watch = scene.watch();
    assert!(is_ready(watch.until_reported()) && !watch.is_blind());
    scene.nodes[0].cut();
    assert!(watch.is_blind() && !is_ready(watch.until_reported()));
    scene.nodes[0].restore();
    assert!(is_ready(watch.until_reported()) && !watch.is_blind());
}

/// Checks that all watches of a caller, one for each permit, count the late votes of one attempt.
#[test]
fn a_late_vote_counts_in_every_watch_of_a_caller() {
    let scene = Scene::silent(5);
    let keys = Resource::from("r");
    let refusal = Round::new(5, any_kind::peek(&keys), Goal::Majority);
    let vote = |seat| refusal.vote(seat, Vote::Held(Holding::default()));
    (0..3).for_each(vote);
    let nodes = scene.node_set();
    let watches = [0, 1].map(|_| {
        let refusal = Some(Arc::clone(&refusal));
        QuorumWatch::after_attempt(&scene.clock, &nodes, &keys, refusal)
    });
    let mut waiting = pin!(any_free(&watches));
    let mut context = Context::from_waker(Waker::noop());
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    vote(3);
    assert!(waiting.as_mut().poll(&mut context).is_pending());
    (1..4).for_each(|seat| say(&watches[1], seat, KeyReport::Free));
    assert!(waiting.as_mut().poll(&mut context).is_ready());
}
