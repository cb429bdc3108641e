//! Tests of a node that panics on each operation.

use super::*;
use crate::node::{NodeStatus, Submission};

struct Bomb;

impl Node for Bomb {
    fn name(&self) -> &'static str {
        "bomb"
    }

    fn submit(&self, _: Submission) {
        panic!("a bomb");
    }

    fn drained(&self) -> bool {
        true
    }

    fn status(&self) -> NodeStatus {
        NodeStatus::Voting
    }
}

/// Returns the scene's nodes with a bomb in the first place.
fn bombed(scene: &Scene) -> NodeSet {
    let mut nodes = scene.set.to_vec();
    nodes[0] = Arc::new(Bomb);
    nodes.into()
}

#[test]
fn a_node_that_panics_costs_its_own_vote() {
    let scene = Scene::new();
    let set = bombed(&scene);
    let lease = acquired(&mut scene.acquire_on(&set, &once()));
    assert_eq!(lease.votes(), 2);
    assert!(poll(&mut Box::pin(lease.extend(TTL))).is_ready());
    assert_eq!(released(lease), Released::Confirmed);
    assert!(scene.is_free());
}

#[test]
fn what_others_granted_is_undone_where_a_node_panics() {
    let scene = Scene::new();
    let set = bombed(&scene);
    scene.nodes[1].put(b"r", b"someone", SECOND);
    refused(&mut scene.acquire_on(&set, &once()));
    assert_eq!(scene.nodes[2].get(b"r"), None);
}
