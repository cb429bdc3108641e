//! Errors of callers that give up in line while one of three nodes gives no vote. The first vote "held" decides the
//! attempt, but only the second one makes a majority.

use super::blind::patient;
use super::*;
use crate::error::{NodeOutcome, NodeReport, TooLate};

/// Returns a request that waits for `limit` and makes no retry before its end.
fn short(limit: Duration) -> Request {
    let mut request = patient();
    request.retry_limit = RetryLimit::Wait(limit);
    request
}

/// Returns a scene in which another client holds the lock. A caller has asked the nodes, which answer on `answers`.
fn asked() -> (Scene, Acquiring) {
    let scene = Scene::new();
    scene.hold_elsewhere();
    scene.nodes[..2].iter().for_each(MemoryNode::hang);
    scene.nodes[2].cut();
    let head = scene.waits(&patient());
    (scene, head)
}

impl Scene {
    fn answers(&self, node: usize) {
        self.nodes[node].restore();
        self.nodes[node].hang();
    }
}

#[test]
fn a_caller_in_line_is_told_the_holder_at_the_second_vote() {
    let (scene, mut head) = asked();
    scene.answers(0);
    assert!(is_waiting(&mut head));
    let mut tries = scene.waits(&once());
    scene.answers(1);
    scene.clock.advance(MS);
    let told = contended(refused(&mut tries));
    assert_eq!(told.holding.value.as_deref(), Some(&b"someone"[..]));
    assert_eq!(told.attempts, 0);
}

/// Leaves the first caller unpolled.
#[test]
fn a_caller_whose_time_is_up_counts_the_votes_until_then() {
    for is_voted in [true, false] {
        let (scene, mut head) = asked();
        scene.answers(0);
        assert!(is_waiting(&mut head));
        let mut waits = scene.waits(&short(MS * 80));
        // The last attempt of a caller that waits 80 ms would begin after 60 ms. The nodes have 50 ms to answer.
        scene.clock.advance(MS * 49);
        assert!(is_waiting(&mut waits));
        if is_voted {
            scene.answers(1);
        }
        scene.clock.advance(MS * 11);
        let told = refused(&mut waits);
        if is_voted {
            assert_eq!(contended(told).attempts, 0);
            continue;
        }
        let told = unavailable(told);
        let [one, two, three] = &told.nodes[..] else {
            panic!("{told}");
        };
        assert!(matches!(one.outcome, NodeOutcome::Held), "{told}");
        assert!(matches!(two.outcome, NodeOutcome::NoAnswer(_)), "{told}");
        assert!(matches!(three.outcome, NodeOutcome::Failed(_)), "{told}");
    }
}

/// Leaves the caller that asked unpolled until the next caller has the turn and asks as well.
#[test]
fn a_caller_is_told_the_attempt_of_one_that_lost_the_turn() {
    for is_next_refused in [false, true] {
        let (scene, mut head) = asked();
        let mut next = scene.waits(&waiting());
        let mut waits = scene.waits(&short(MS * 300));
        scene.answers(0);
        scene.answers(1);
        // The turn ends 250 ms after the attempt began, which is five node timeouts. From then on, a caller that waits
        // 300 ms has no time for an attempt of its own.
        scene.clock.advance(MS * 250);
        assert!(is_waiting(&mut next) && is_waiting(&mut waits));
        if is_next_refused {
            // Answer with one vote, so that the second one is missing.
            scene.answers(0);
            assert!(is_waiting(&mut next) && is_waiting(&mut waits));
        }
        assert!(is_waiting(&mut head));
        scene.clock.advance(MS);
        assert_eq!(contended(refused(&mut waits)).attempts, 0);
    }
}

#[test]
fn a_caller_is_told_at_once_if_the_missing_vote_is_immaterial() {
    let scene = Scene::new();
    scene.nodes[0].cut();
    scene.nodes[1].hang();
    scene.nodes[2].cut();
    let _head = scene.waits(&patient());
    let told = unavailable(refused(&mut scene.acquire(&once())));
    let missing = &told.nodes[1].outcome;
    assert!(matches!(missing, NodeOutcome::NotAwaited), "{told}");
}

/// The process stands still while the nodes owe it answers, or while a refused caller pauses between two attempts.
#[test]
fn a_process_that_stood_still_is_named_beside_silent_nodes() {
    for (request, pauses, elapsed) in [
        (once(), false, SECOND * 2),
        (short(SECOND), true, Duration::ZERO),
    ] {
        let scene = Scene::new();
        scene.hold_elsewhere();
        let hang = || scene.nodes.iter().for_each(MemoryNode::hang);
        if !pauses {
            hang();
        }
        let mut caller = scene.waits(&request);
        hang();
        scene.clock.advance(SECOND * 2);
        let told = unavailable(refused(&mut caller));
        let stood_still = NodeOutcome::StoodStill(elapsed);
        let is_told = |node: &NodeReport| node.outcome == stood_still;
        assert!(
            told.nodes.len() == 3 && told.nodes.iter().all(is_told),
            "{told}"
        );
    }
}

#[test]
fn a_caller_that_gives_up_before_any_answer_blames_no_node() {
    for limit in [MS * 20, MS * 80] {
        let scene = Scene::new();
        scene.nodes.iter().for_each(MemoryNode::hang);
        let _head = scene.waits(&waiting());
        let mut waits = scene.waits(&short(limit));
        scene.clock.advance(limit / 4 * 3);
        assert!(is_waiting(&mut waits));
        scene.clock.advance(limit / 4);
        let told = unavailable(refused(&mut waits));
        assert_eq!((told.granted, told.needed, told.attempts), (0, 2, 0));
        assert_eq!(told.nodes.len(), 3);
        let is_blamed = |outcome: &NodeOutcome| !matches!(outcome, NodeOutcome::NotAwaited);
        assert!(!told.nodes.iter().any(|node| is_blamed(&node.outcome)));
        let waited = limit.as_millis();
        let text = format!(
            "gave up after {waited} ms behind other callers of this process, before the nodes answered them"
        );
        assert_eq!(told.to_string(), text);
    }
}

/// Polls the first caller only after its grants are too late and the next caller has asked.
#[test]
fn a_late_refusal_replaces_no_answer_to_a_later_attempt() {
    let scene = Scene::new();
    scene.nodes.iter().for_each(MemoryNode::hang);
    let mut head = scene.waits(&patient().ttl(SECOND));
    let mut next = scene.waits(&patient());
    let mut waits = scene.waits(&short(MS * 1060));
    scene.serve();
    scene.clock.advance(MS * 250);
    for _ in 0..2 {
        assert!(is_waiting(&mut next) && is_waiting(&mut waits));
        scene.serve();
    }
    scene.clock.advance(MS * 760);
    assert!(is_waiting(&mut head));
    assert_eq!(contended(refused(&mut waits)).attempts, 0);
}

#[test]
fn a_caller_in_line_is_told_that_votes_came_too_late() {
    let told = Unavailable {
        attempts: 0,
        too_late: Some(TooLate::Validity(Duration::ZERO)),
        ..Unavailable::in_one_attempt(0, Vec::new(), MS)
    };
    assert!(told.to_string().contains("raise the ttl"), "{told}");
}
