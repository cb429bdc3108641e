//! Waiting with a long retry delay, over nodes that fail in an attempt or report nothing after it.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use super::*;
use crate::node::watch::Watch;
use crate::node::{Effect, NodeStatus, Submission};

/// Longer than every pause, and so longer than a wait after the trouble is over.
pub(crate) const SOON: Duration = Duration::from_millis(2100);

pub(crate) fn patient() -> Request {
    let mut request = waiting();
    request.retry_delay = SECOND * 600;
    request
}

/// Returns the lease of a caller that acquires it before `limit` has passed.
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

/// Lets time pass, in which the caller must keep waiting.
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

/// A node whose server sends no messages. The node drops watches, as real nodes do if the server refuses messages.
pub(crate) struct Untold {
    node: MemoryNode,
    attempts: Arc<AtomicU32>,
}

impl Node for Untold {
    fn name(&self) -> &str {
        self.node.name()
    }

    fn submit(&self, submission: Submission) {
        let is_attempt = submission.call().effect == Effect::Takes;
        self.attempts.fetch_add(is_attempt.into(), Relaxed);
        self.node.submit(submission);
    }

    fn drained(&self) -> bool {
        self.node.drained()
    }

    fn status(&self) -> NodeStatus {
        self.node.status()
    }

    fn watch(&self, watch: Watch) {
        drop(watch);
    }
}

pub(crate) fn untold(scene: &Scene) -> (NodeSet, Arc<AtomicU32>) {
    let attempts = Arc::new(AtomicU32::new(0));
    let untold = |node: &MemoryNode| {
        let (node, attempts) = (node.clone(), Arc::clone(&attempts));
        Arc::new(Untold { node, attempts }) as Arc<dyn Node>
    };
    (scene.nodes.iter().map(untold).collect(), attempts)
}

/// Returns the number of attempts, each of which asked three nodes.
pub(crate) fn made(attempts: &AtomicU32) -> u32 {
    attempts.load(Relaxed) / 3
}

#[test]
fn a_caller_that_no_node_tells_asks_at_times_beside_its_retries() {
    let scene = Scene::new();
    scene.hold_elsewhere();
    let (set, attempts) = untold(&scene);
    let mut request = patient().retry_limit(1);
    request.retry_delay = SECOND * 60;
    let mut waits = scene.acquire_on(&set, &request);
    waits_for(SECOND * 29, &scene, &mut waits);
    assert!((15..=30).contains(&made(&attempts)), "{}", made(&attempts));
    let mut passed = SECOND * 29;
    while is_waiting(&mut waits) {
        scene.clock.advance(SECOND);
        passed += SECOND;
        assert!(passed <= SECOND * 61, "its only retry was due");
    }
}

/// Leaves the future of the caller with the turn unpolled in its pause.
#[test]
fn a_caller_unpolled_in_a_long_pause_loses_the_turn_soon() {
    let scene = Scene::new();
    scene.hold_elsewhere();
    let _unpolled = scene.waits(&patient());
    let mut next = scene.waits(&patient());
    scene.free_elsewhere();
    drop(acquired_within(SECOND * 3, &scene, &mut next));
}
