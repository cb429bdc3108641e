//! Waiting with a long retry delay, over nodes that fail in an attempt, or tell nothing behind it.

use std::sync::atomic::AtomicU32;

use super::*;
use crate::node::watch::Watch;
use crate::node::{Call, Effect, NodeStatus, Reply};

/// A caller waits for less than this once the trouble is over: the first look is due within a second.
pub(crate) const SOON: Duration = Duration::from_millis(1100);

const DELAY: Duration = Duration::from_secs(600);

pub(crate) fn patient() -> Request {
    let mut request = waiting();
    request.retry.delay = DELAY;
    request
}

/// The lease of a caller that gets it before `limit` has passed.
pub(crate) fn acquired_within(limit: Duration, scene: &Scene, acquiring: &mut Acquiring) -> Lease {
    let mut passed = Duration::ZERO;
    loop {
        if let Poll::Ready(lease) = poll(acquiring) {
            return lease.unwrap();
        }
        assert!(passed < limit, "still waiting after {passed:?}");
        scene.clock.advance(MS * 10);
        passed += MS * 10;
    }
}

/// Lets time pass for a caller that is not to get the lock.
pub(crate) fn waits_for(time: Duration, scene: &Scene, acquiring: &mut Acquiring) {
    for _ in 0..time.as_millis() / 10 {
        assert!(is_waiting(acquiring));
        scene.clock.advance(MS * 10);
    }
    assert!(is_waiting(acquiring));
}

#[test]
fn a_majority_that_failed_is_asked_again_soon() {
    for is_held in [false, true] {
        for hangs in [false, true] {
            let scene = Scene::new();
            if is_held {
                scene.hold_elsewhere();
            }
            let trouble = if hangs {
                MemoryNode::hang
            } else {
                MemoryNode::cut
            };
            scene.nodes[1..].iter().for_each(trouble);
            let mut waits = scene.acquire(&patient());
            waits_for(MS * 100, &scene, &mut waits);
            scene.nodes[1..].iter().for_each(MemoryNode::restore);
            waits_for(MS * 100, &scene, &mut waits);
            scene.free_elsewhere();
            drop(acquired_within(SOON, &scene, &mut waits));
        }
    }
}

/// The node that failed in the attempt has no watch. It comes back, and another one goes.
#[test]
fn a_minority_that_failed_is_asked_again_once_another_node_is_missing() {
    let scene = Scene::new();
    scene.hold_elsewhere();
    scene.nodes[2].cut();
    let mut waits = scene.acquire(&patient());
    waits_for(SECOND * 5, &scene, &mut waits);
    scene.nodes[2].restore();
    scene.nodes[0].cut();
    scene.free_elsewhere();
    drop(acquired_within(SOON, &scene, &mut waits));
}

/// A node whose server tells of no keys: it drops watches, as a node does that was refused.
pub(crate) struct Untold {
    node: MemoryNode,
    is_refused: std::sync::atomic::AtomicBool,
    kept: parking_lot::Mutex<Vec<Watch>>,
    attempts: Arc<AtomicU32>,
}

impl Node for Untold {
    fn name(&self) -> &str {
        self.node.name()
    }

    fn submit(&self, call: Arc<Call>, reply: Reply) {
        use std::sync::atomic::Ordering::Relaxed;
        let is_attempt = call.effect() == Effect::Takes;
        self.attempts.fetch_add(is_attempt.into(), Relaxed);
        self.node.submit(call, reply);
    }

    fn drained(&self) -> bool {
        self.node.drained()
    }

    fn status(&self) -> NodeStatus {
        self.node.status()
    }

    fn watch(&self, watch: Watch) {
        use std::sync::atomic::Ordering::Relaxed;
        if !self.is_refused.load(Relaxed) {
            // What it says goes no further than this.
            watch.report(crate::node::KeyReport::Held(Remaining::Never));
            self.kept.lock().push(watch);
        }
    }
}

pub(crate) fn untold(scene: &Scene) -> (Vec<Arc<Untold>>, NodeSet, Arc<AtomicU32>) {
    let attempts = Arc::new(AtomicU32::new(0));
    let untold = |node: &MemoryNode| {
        Arc::new(Untold {
            node: node.clone(),
            is_refused: true.into(),
            kept: parking_lot::Mutex::default(),
            attempts: Arc::clone(&attempts),
        })
    };
    let nodes: Vec<_> = scene.nodes.iter().map(untold).collect();
    let set = nodes.iter().map(|node| Arc::clone(node) as Arc<dyn Node>);
    let set = set.collect();
    (nodes, set, attempts)
}

/// The attempts at one of three nodes.
pub(crate) fn made(attempts: &AtomicU32) -> u32 {
    attempts.load(std::sync::atomic::Ordering::Relaxed) / 3
}

#[test]
fn a_caller_that_no_node_tells_looks_less_often_from_look_to_look() {
    let scene = Scene::new();
    scene.hold_elsewhere();
    let (_nodes, set, attempts) = untold(&scene);
    let mut waits = scene.acquire_on(&set, &patient());
    waits_for(SECOND * 4, &scene, &mut waits);
    // The first one, one within 1 s, and one within 2 s of it.
    assert!((3..=4).contains(&made(&attempts)), "{}", made(&attempts));
    waits_for(SECOND * 50, &scene, &mut waits);
    // And within 4, 8, 16, and 32 s, each at least half of it later.
    assert!((6..=8).contains(&made(&attempts)), "{}", made(&attempts));
    scene.free_elsewhere();
    drop(acquired_within(SECOND * 65, &scene, &mut waits));
}

#[test]
fn a_caller_that_loses_sight_later_looks_soon_and_a_caller_that_sees_does_not_look() {
    let scene = Scene::new();
    scene.hold_elsewhere();
    let (nodes, set, attempts) = untold(&scene);
    for node in &nodes {
        node.is_refused
            .store(false, std::sync::atomic::Ordering::Relaxed);
    }
    let mut waits = scene.acquire_on(&set, &patient());
    waits_for(SECOND * 50, &scene, &mut waits);
    assert_eq!(made(&attempts), 1, "it would be told");
    scene.free_elsewhere();
    // Two of three connections end, and with them the watches.
    for node in &nodes[..2] {
        node.kept.lock().clear();
    }
    drop(acquired_within(SOON, &scene, &mut waits));
}

#[test]
fn a_caller_that_was_blind_for_long_and_saw_again_looks_soon_when_it_is_blind_once_more() {
    let scene = Scene::new();
    let (nodes, set, _) = untold(&scene);
    let mut request = patient();
    request.retry.delay = SECOND * 40;
    scene.hold_elsewhere();
    let mut waits = scene.acquire_on(&set, &request);
    for is_refused in [true, true, true, false] {
        scene.hold_elsewhere();
        for node in &nodes {
            let now = &node.is_refused;
            now.store(is_refused, std::sync::atomic::Ordering::Relaxed);
        }
        waits_for(SECOND * 48, &scene, &mut waits);
    }
    for node in &nodes {
        node.kept.lock().clear();
    }
    scene.free_elsewhere();
    drop(acquired_within(SOON, &scene, &mut waits));
}

#[test]
fn looks_use_up_nothing_of_the_retries() {
    let scene = Scene::new();
    scene.hold_elsewhere();
    let (_nodes, set, attempts) = untold(&scene);
    let mut request = patient().retries(1);
    request.retry.delay = SECOND * 60;
    let mut waits = scene.acquire_on(&set, &request);
    waits_for(SECOND * 29, &scene, &mut waits);
    let looked = made(&attempts);
    assert!(looked > 3, "{looked}");
    let mut passed = SECOND * 29;
    while is_waiting(&mut waits) {
        scene.clock.advance(SECOND);
        passed += SECOND;
        assert!(passed <= SECOND * 61, "its only retry was due");
    }
}

/// The future of the caller with the turn is not polled in its pause.
#[test]
fn a_caller_that_is_not_polled_in_a_long_pause_loses_the_turn_soon() {
    let scene = Scene::new();
    scene.hold_elsewhere();
    let mut unpolled = scene.acquire(&patient());
    assert!(is_waiting(&mut unpolled));
    let mut next = scene.acquire(&patient());
    assert!(is_waiting(&mut next));
    scene.free_elsewhere();
    drop(acquired_within(SECOND * 2, &scene, &mut next));
}

/// The break of the caller ends with the lock of another process, and not with an attempt.
#[test]
fn a_caller_that_meets_another_process_in_its_break_looks_too() {
    let scene = Scene::new();
    let (_nodes, set, attempts) = untold(&scene);
    let lease = acquired(&mut scene.acquire_on(&set, &patient()));
    let mut next = scene.acquire_on(&set, &patient());
    assert!(is_waiting(&mut next));
    // Longer than callers of one process hand a lock over.
    scene.clock.advance(MS * 60);
    scene.hold_elsewhere();
    released(lease);
    waits_for(MS * 100, &scene, &mut next);
    assert_eq!(
        made(&attempts),
        1,
        "it has asked only whether the key is there"
    );
    scene.free_elsewhere();
    drop(acquired_within(SOON, &scene, &mut next));
}
