//! The order of a line, and how one leaves it.

use super::*;
use crate::model::token::LONGEST;

#[test]
fn one_who_tries_once_hears_at_once_who_has_the_lock() {
    let scene = Scene::new();
    let request = once();
    let holder = scene.acquired(&request);
    // A lease that was extended keeps the turn for as long.
    scene.clock.advance(TTL / 2);
    assert!(poll(&mut Box::pin(holder.extend(TTL))).is_ready());
    scene.nodes.iter().for_each(MemoryNode::cut);
    scene.clock.advance(TTL / 4 * 3);
    let AcquireError::Contended(contended) = refused(&mut scene.acquire(&request)) else {
        panic!("nobody has to be asked");
    };
    assert_eq!(
        contended.holding.remaining,
        Remaining::Expires(holder.validity())
    );
    assert!(contended.holding.owner().is_some());
    assert_eq!(contended.attempts, 0);
}

#[test]
fn one_who_tries_once_hears_what_the_nodes_said_last() {
    let scene = Scene::new();
    let patient = waiting();
    scene.hold_elsewhere();
    let mut head = scene.acquire(&patient);
    assert!(is_waiting(&mut head));
    scene.clock.advance(MS);
    // No node is asked again.
    scene.nodes.iter().for_each(MemoryNode::hang);
    let refusal = refused(&mut scene.acquire(&once()));
    assert!(matches!(refusal, AcquireError::Contended(_)), "{refusal}");
    scene.nodes.iter().for_each(MemoryNode::restore);

    scene.free_elsewhere();
    let lease = acquired(&mut head);
    let mut fenced = patient;
    fenced.fencing = true;
    let mut next = scene.acquire(&fenced);
    assert!(is_waiting(&mut next));
    scene.nodes.iter().for_each(MemoryNode::hang);
    assert_eq!(released(lease), Released::HandedOver);
    assert!(is_waiting(&mut next), "it asks the nodes");
    // What they said before the lease says nothing of the lock.
    let mut curious = scene.acquire(&once());
    assert!(is_waiting(&mut curious));
    // The time of a break and of an attempt.
    scene.clock.advance(MS * 100);
    let refusal = refused(&mut curious);
    assert!(matches!(refusal, AcquireError::Unavailable(_)), "{refusal}");
}

#[test]
fn of_a_large_value_of_somebody_elses_no_more_is_kept_than_names_an_owner_and_that_once() {
    let scene = Scene::new();
    for node in &scene.nodes {
        node.put(b"r", &vec![b'x'; 1 << 20], SECOND * 60);
    }
    let mut head = scene.acquire(&waiting());
    assert!(is_waiting(&mut head));
    let mut curious = [scene.acquire(&once()), scene.acquire(&once())];
    let [one, other] = curious.each_mut().map(|curious| {
        let AcquireError::Contended(contended) = refused(curious) else {
            panic!("it is held");
        };
        contended.holding.value.expect("the nodes said it")
    });
    assert_eq!(one.len(), LONGEST + 1);
    assert!(Arc::ptr_eq(&one, &other), "for all of them");
}

#[test]
fn a_lease_that_ends_unreleased_is_nobodys_turn() {
    let scene = Scene::new();
    let request = waiting();
    let lease = scene.acquired(&request);
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    scene.clock.advance(TTL);
    let next = acquired(&mut next);
    let token = scene.values();
    // The release that comes late changes nothing.
    assert_ne!(released(lease), Released::HandedOver);
    assert_eq!(scene.values(), token);
    drop(next);
    assert!(scene.is_free());
}

#[test]
fn so_many_may_stand_in_line_and_no_more() {
    let scene = Scene::with(|settings| {
        settings.max_waiters_per_lock = 2;
        settings.max_waiters = 3;
    });
    let (request, other) = (waiting(), Request::new("other"));
    let _holders = (scene.acquired(&request), scene.acquired(&other));
    let mut line = [scene.acquire(&request), scene.acquire(&request)];
    assert!(line.iter_mut().all(is_waiting));
    let text = refused(&mut scene.acquire(&request)).to_string();
    assert!(text.contains("wanted by 2 callers"), "{text}");
    let mut third = scene.acquire(&other);
    assert!(is_waiting(&mut third));
    refused(&mut scene.acquire(&other));
    drop(line);
    assert!(is_waiting(&mut scene.acquire(&other)));
}

#[test]
fn a_waiting_caller_has_the_same_time_in_line_as_between_attempts() {
    let scene = Scene::new();
    let mut request = Request::new("r").ttl(TTL).retries(2);
    request.retry.delay = SECOND;
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
    assert!(matches!(error, AcquireError::Contended(_)), "{error}");
    // Each delay is between half of it and all of it.
    assert!(
        passed >= SECOND && passed <= SECOND * 2 + MS * 20,
        "{passed:?}"
    );

    request.retry.limit = RetryLimit::Wait(SECOND);
    let mut waits = scene.acquire(&request);
    assert!(is_waiting(&mut waits));
    scene.clock.advance(SECOND);
    let AcquireError::Contended(contended) = refused(&mut waits) else {
        panic!("it is held");
    };
    assert_eq!(contended.waited, SECOND);
}

#[test]
fn the_same_nodes_in_another_order_are_the_same_line() {
    let scene = Scene::new();
    let (request, tries) = (waiting(), once());
    let _holder = scene.acquired(&request);
    let turned: NodeSet = scene.set.iter().rev().map(Arc::clone).collect();
    let AcquireError::Contended(known) = refused(&mut scene.acquire_on(&turned, &tries)) else {
        panic!("it is held");
    };
    assert_eq!(known.attempts, 0, "nobody was asked");
}

#[test]
fn a_silent_majority_is_waited_for_for_the_node_timeout_and_no_longer_than_a_quarter_of_the_ttl() {
    for (ttl, limit) in [(TTL, MS * 50), (MS * 100, MS * 25)] {
        let scene = Scene::new();
        scene.nodes[1..].iter().for_each(MemoryNode::hang);
        let mut acquiring = scene.acquire(&once().ttl(ttl));
        assert!(is_waiting(&mut acquiring));
        scene.clock.advance(limit.saturating_sub(MS));
        assert!(is_waiting(&mut acquiring));
        scene.clock.advance(MS);
        let error = refused(&mut acquiring);
        assert!(matches!(error, AcquireError::Unavailable(_)), "{error}");
    }
}

#[test]
fn what_was_extended_or_has_another_drift_is_not_taken_over_as_it_is() {
    let mut other_drift = waiting();
    other_drift.clock_drift_factor = 0.02;
    for (next, is_extended) in [(waiting(), false), (waiting(), true), (other_drift, false)] {
        let scene = Scene::new();
        let lease = scene.acquired(&waiting());
        let token = lease.token_id().to_owned();
        if is_extended {
            assert!(poll(&mut Box::pin(lease.extend(TTL * 3))).is_ready());
        }
        let drift = next.clock_drift_factor;
        let is_alike = !is_extended && drift.to_bits() == waiting().clock_drift_factor.to_bits();
        let mut next = scene.acquire(&next);
        assert!(is_waiting(&mut next));
        assert_eq!(released(lease), Released::HandedOver);
        let next = acquired(&mut next);
        assert_eq!(next.token_id() == token, is_alike);
        assert_eq!(next.validity() + TTL.mul_f64(drift) + MS * 2, TTL);
        assert_eq!(scene.nodes[0].remaining(b"r"), Some(TTL), "its own");
    }
}
