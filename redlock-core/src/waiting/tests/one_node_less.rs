//! Waiting for another process where one node of three does not vote: the clock stands still, so that
//! what ends a pause is the news that the lock is free.

use super::slow_nodes::{Slow, serve};
use super::*;

/// How the third node does not vote.
#[derive(Clone, Copy, Debug)]
pub(super) enum Absence {
    Dead,
    Failing,
    Quarantined,
}

pub(super) const ABSENCES: [Absence; 3] = [Absence::Dead, Absence::Failing, Absence::Quarantined];

/// Two of the nodes are held by someone, and answer when they are told to; the third one votes no at
/// once.
pub(super) fn without_the_third(scene: &Scene, absence: Absence) -> (Vec<Arc<Slow>>, NodeSet) {
    scene.hold_elsewhere();
    let slow: Vec<_> = scene.nodes.iter().map(Slow::over).collect();
    for node in &slow[..2] {
        node.hesitate();
    }
    match absence {
        Absence::Dead => scene.nodes[2].cut(),
        Absence::Failing => scene.nodes[2].fail("OOM command not allowed"),
        Absence::Quarantined => slow[2].abstain(),
    }
    let set = slow.iter().map(|node| Arc::clone(node) as Arc<dyn Node>);
    let set = set.collect();
    (slow, set)
}

#[test]
fn a_release_wakes_a_waiter_that_one_node_refused_while_the_other_was_still_to_answer() {
    for absence in ABSENCES {
        let scene = Scene::new();
        let (slow, set) = without_the_third(&scene, absence);
        let mut waiting = scene.acquire_on(&set, &waiting());
        assert!(is_waiting(&mut waiting));
        // With this answer, and the node that is not there, the attempt is refused.
        serve(&slow[..1]);
        assert!(is_waiting(&mut waiting));
        serve(&slow[1..2]);
        serve(&slow[..2]);
        assert!(is_waiting(&mut waiting));
        scene.free_elsewhere();
        assert!(is_waiting(&mut waiting));
        serve(&slow[..2]);
        drop(acquired(&mut waiting));
        serve(&slow[..2]);
    }
}

/// Whoever is told of it before the other node has voted, is woken once it has.
#[test]
fn a_release_between_the_two_answers_wakes_too() {
    for absence in ABSENCES {
        let scene = Scene::new();
        let (slow, set) = without_the_third(&scene, absence);
        let mut waiting = scene.acquire_on(&set, &waiting());
        assert!(is_waiting(&mut waiting));
        serve(&slow[..1]);
        assert!(is_waiting(&mut waiting));
        scene.free_elsewhere();
        // The other one grants, which is no majority, and is released again.
        serve(&slow[1..2]);
        assert!(is_waiting(&mut waiting));
        serve(&slow[..2]);
        // It looks as though two were at it, so the wake-up counts a moment later.
        assert!(is_waiting(&mut waiting));
        scene.clock.advance(MS);
        assert!(is_waiting(&mut waiting));
        serve(&slow[..2]);
        drop(acquired(&mut waiting));
        serve(&slow[..2]);
    }
}
