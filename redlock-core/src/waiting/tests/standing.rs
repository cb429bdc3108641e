//! The order of a line, and the ways to leave it.

use super::*;
use crate::model::token::LONGEST_TOKEN;

#[test]
fn one_who_tries_once_hears_at_once_who_has_the_lock() {
    let scene = Scene::new();
    let request = once();
    let holder = scene.acquired(&request);
    // A lease keeps the turn after an extension too.
    scene.clock.advance(TTL / 2);
    assert!(extended(&holder, TTL));
    scene.nodes.iter().for_each(MemoryNode::cut);
    scene.clock.advance(TTL / 4 * 3);
    let told = contended(refused(&mut scene.acquire(&request)));
    let left = Remaining::Expires(holder.validity());
    assert_eq!((told.holding.remaining, told.attempts), (left, 0));
    assert!(told.holding.owner().is_some());
}

#[test]
fn one_who_tries_once_hears_what_the_nodes_said_last() {
    let scene = Scene::new();
    let patient = waiting();
    scene.hold_elsewhere();
    let mut head = scene.waits(&patient);
    scene.clock.advance(MS);
    // The nodes must get no further question.
    scene.nodes.iter().for_each(MemoryNode::hang);
    contended(refused(&mut scene.acquire(&once())));
    scene.nodes.iter().for_each(MemoryNode::restore);

    scene.free_elsewhere();
    let lease = acquired(&mut head);
    let mut fenced = patient;
    fenced.fencing = true;
    let mut next = scene.waits(&fenced);
    scene.nodes.iter().for_each(MemoryNode::hang);
    assert_eq!(released(lease), Released::HandedOver);
    assert!(is_waiting(&mut next), "it asks the nodes");
    // The nodes' answer from before the lease is out of date.
    let mut curious = scene.waits(&once());
    // Wait for the time of a break and of an attempt.
    scene.clock.advance(MS * 100);
    unavailable(refused(&mut curious));
}

#[test]
fn of_a_large_value_only_a_tokens_length_is_kept_and_that_once() {
    let scene = Scene::new();
    for node in &scene.nodes {
        node.put(b"r", &vec![b'x'; 1 << 20], SECOND * 60);
    }
    let _head = scene.waits(&waiting());
    let mut curious = [scene.acquire(&once()), scene.acquire(&once())];
    let [one, other] = curious.each_mut().map(|curious| {
        let told = contended(refused(curious));
        told.holding.value.expect("the nodes said it")
    });
    assert_eq!(one.len(), LONGEST_TOKEN + 1);
    assert!(Arc::ptr_eq(&one, &other), "for all of them");
}

#[test]
fn a_lease_that_ends_unreleased_is_nobodys_turn() {
    let scene = Scene::new();
    let request = waiting();
    let lease = scene.acquired(&request);
    let mut next = scene.waits(&request);
    scene.clock.advance(TTL);
    let next = acquired(&mut next);
    let token = scene.values();
    // The late release must change nothing.
    assert_ne!(released(lease), Released::HandedOver);
    assert_eq!(scene.values(), token);
    drop(next);
    assert!(scene.is_free());
}

#[test]
fn so_many_may_stand_in_line_and_no_more() {
    let scene = Scene::with(Settings::default().max_waiters_per_lock(2).max_waiters(3));
    let (request, other) = (waiting(), Request::new("other"));
    let _holders = (scene.acquired(&request), scene.acquired(&other));
    let mut line = [scene.acquire(&request), scene.acquire(&request)];
    assert!(line.iter_mut().all(is_waiting));
    let text = refused(&mut scene.acquire(&request)).to_string();
    assert!(text.contains("wanted by 2 callers"), "{text}");
    let _third = scene.waits(&other);
    refused(&mut scene.acquire(&other));
    drop(line);
    assert!(is_waiting(&mut scene.acquire(&other)));
}

#[test]
fn a_caller_has_the_same_time_in_line_as_between_attempts() {
    let scene = Scene::new();
    let mut request = Request::new("r").ttl(TTL).retry_limit(2);
    request.retry_delay = SECOND;
    let _holder = scene.acquired(&waiting());
    let mut waits = scene.acquire(&request);
    let mut passed = Duration::ZERO;
    let error = loop {
        match poll(&mut waits) {
            Poll::Ready(refused) => break refused.unwrap_err(),
            Poll::Pending => {
                scene.clock.advance(MS * 10);
                passed += MS * 10;
                assert!(passed < SECOND * 3, "it waits too long");
            }
        }
    };
    contended(error);
    // Each delay lasts for half of the retry delay to all of it.
    assert!(
        passed >= SECOND && passed <= SECOND * 2 + MS * 20,
        "{passed:?}"
    );

    request.retry_limit = RetryLimit::Wait(SECOND);
    let mut waits = scene.waits(&request);
    scene.clock.advance(SECOND);
    assert_eq!(contended(refused(&mut waits)).waited, SECOND);
}

#[test]
fn the_same_nodes_in_another_order_are_the_same_line() {
    let scene = Scene::new();
    let (request, tries) = (waiting(), once());
    let _holder = scene.acquired(&request);
    let turned: NodeSet = scene.set.iter().rev().map(Arc::clone).collect();
    let known = contended(refused(&mut scene.acquire_on(&turned, &tries)));
    assert_eq!(known.attempts, 0, "nobody was asked");
}

#[test]
fn a_silent_majority_has_the_node_timeout_or_a_quarter_ttl() {
    for (ttl, limit) in [(TTL, MS * 50), (MS * 100, MS * 25)] {
        let scene = Scene::new();
        scene.nodes[1..].iter().for_each(MemoryNode::hang);
        let mut acquiring = scene.waits(&once().ttl(ttl));
        scene.clock.advance(limit.saturating_sub(MS));
        assert!(is_waiting(&mut acquiring));
        scene.clock.advance(MS);
        unavailable(refused(&mut acquiring));
    }
}

#[test]
fn an_extended_lease_or_one_of_another_drift_has_a_new_token() {
    let mut other_drift = waiting();
    other_drift.clock_drift_factor = 0.02;
    for (next, is_extended) in [(waiting(), false), (waiting(), true), (other_drift, false)] {
        let scene = Scene::new();
        let lease = scene.acquired(&waiting());
        let token = lease.token_id().to_owned();
        if is_extended {
            assert!(extended(&lease, TTL * 3));
        }
        let drift = next.clock_drift_factor;
        let is_alike = !is_extended && drift.to_bits() == waiting().clock_drift_factor.to_bits();
        let mut next = scene.waits(&next);
        assert_eq!(released(lease), Released::HandedOver);
        let next = acquired(&mut next);
        assert_eq!(next.token_id() == token, is_alike);
        assert_eq!(next.validity() + TTL.mul_f64(drift) + MS * 2, TTL);
        assert_eq!(scene.nodes[0].remaining(b"r"), Some(TTL), "its own");
    }
}
