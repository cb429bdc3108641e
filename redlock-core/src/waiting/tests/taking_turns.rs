//! Whose turn it is among processes: who had the lock longest ago comes first.

use parking_lot::Mutex;

use super::*;
use crate::model::resource::Resource;
use crate::node::watch::Watch;
use crate::node::{Call, Effect, NodeStatus, Reply};

/// A node that records the operations it was asked. Another client may come between two of them.
struct Told {
    node: MemoryNode,
    seat: usize,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    nodes: Vec<MemoryNode>,
    /// What the first node was asked.
    asked: Mutex<Vec<&'static str>>,
    /// The client that takes the lock when the nodes are next asked whether another client has come.
    comes: Mutex<Option<&'static str>>,
}

impl Shared {
    fn hold(&self, who: &str) {
        let token = format!("{who}/{}", "0".repeat(32));
        for node in &self.nodes {
            node.put(b"r", token.as_bytes(), SECOND * 60);
        }
    }

    fn free(&self) {
        self.nodes.iter().for_each(|node| node.delete(b"r"));
    }

    fn comes(&self, who: &'static str) {
        *self.comes.lock() = Some(who);
    }

    fn asked(&self) -> Vec<&'static str> {
        std::mem::take(&mut *self.asked.lock())
    }
}

impl Node for Told {
    fn name(&self) -> &str {
        self.node.name()
    }

    fn submit(&self, call: Arc<Call>, reply: Reply) {
        let want = match call.effect() {
            Effect::Looks => "PTTL",
            Effect::Takes => "SET",
            _ => "release",
        };
        if self.seat == 0 {
            self.shared.asked.lock().push(want);
            if want == "PTTL"
                && let Some(who) = self.shared.comes.lock().take()
            {
                self.shared.hold(who);
            }
        }
        self.node.submit(call, reply);
    }

    fn drained(&self) -> bool {
        self.node.drained()
    }

    fn status(&self) -> NodeStatus {
        self.node.status()
    }

    fn watch(&self, watch: Watch) {
        self.node.watch(watch);
    }
}

/// One who waits for `resource`, `r` among it, behind a series of hand-overs that has just ended, knowing
/// `a` and `b`, who want `r`; `a` has come meanwhile.
fn behind_a_run_of_hand_overs(resource: impl Into<Resource>) -> (Scene, Arc<Shared>, Acquiring) {
    let scene = Scene::new();
    let shared = Arc::new(Shared {
        nodes: scene.nodes.clone(),
        ..Shared::default()
    });
    let told = scene.nodes.iter().enumerate().map(|(seat, node)| {
        let (node, shared) = (node.clone(), Arc::clone(&shared));
        Arc::new(Told { node, seat, shared }) as Arc<dyn Node>
    });
    let set: NodeSet = told.collect();
    let request = Request {
        resource: resource.into(),
        ..waiting()
    };
    let mut first = scene.acquire_on(&set, &request);
    for who in ["a/1", "b/1"] {
        shared.hold(who);
        assert!(is_waiting(&mut first));
        scene.clock.advance(SECOND);
    }
    assert!(is_waiting(&mut first));
    shared.free();
    let lease = acquired(&mut first);
    let mut next = scene.acquire_on(&set, &request);
    assert!(is_waiting(&mut next));
    scene.clock.advance(SECOND);
    shared.asked();
    released(lease);
    shared.comes("a/1");
    assert!(is_waiting(&mut next));
    assert_eq!(shared.asked(), ["release", "PTTL"]);
    (scene, shared, next)
}

#[test]
fn one_that_had_it_longer_ago_comes_first_and_then_nobody_is_asked_for() {
    let (_scene, shared, mut next) = behind_a_run_of_hand_overs("r");
    shared.free();
    shared.comes("b/1");
    assert!(is_waiting(&mut next));
    assert_eq!(shared.asked(), ["PTTL"], "it was b's turn");
    shared.free();
    drop(acquired(&mut next));
    assert_eq!(shared.asked(), ["SET", "release"]);
}

#[test]
fn one_that_has_any_of_several_names_is_waited_for_for_a_moment_and_then_forgotten() {
    for resource in [Resource::from("r"), Resource::all(["a", "r", "s"])] {
        let (_scene, shared, mut next) = behind_a_run_of_hand_overs(resource);
        shared.free();
        let lease = acquired(&mut next);
        assert_eq!(shared.asked(), ["PTTL", "PTTL", "PTTL", "SET"]);
        drop(lease);
    }
}

#[test]
fn what_a_caller_has_waited_for_is_not_put_off_by_turns() {
    let (scene, shared, mut next) = behind_a_run_of_hand_overs("r");
    scene.clock.advance(SECOND);
    shared.free();
    drop(acquired(&mut next));
    assert_eq!(
        shared.asked(),
        ["SET", "release"],
        "its next attempt was due"
    );
}
