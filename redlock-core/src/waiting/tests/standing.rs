//! The order of a line, and how one leaves it.

use super::*;
use crate::model::token::LONGEST;

#[test]
fn callers_get_the_lock_in_the_order_in_which_they_came() {
    let scene = Scene::new();
    let request = waiting();
    let first = scene.acquired(&request);
    let mut line: Vec<_> = (0..5).map(|_| scene.acquire(&request)).collect();
    assert!(line.iter_mut().all(is_waiting));
    let mut holder = first;
    for next in 0..line.len() {
        assert_eq!(released(holder), Released::HandedOver);
        for later in &mut line[next + 1..] {
            assert!(is_waiting(later), "it is not its turn");
        }
        holder = acquired(&mut line[next]);
    }
    assert_eq!(released(holder), Released::Confirmed);
    assert!(scene.is_free());
    assert_eq!(scene.client.shared.lines.known(), 0, "forgotten");
}

#[test]
fn a_node_timeout_without_an_end_is_one() {
    let scene = Scene::with(|settings| settings.node_timeout = Duration::MAX);
    let holder = scene.acquired(&waiting());
    let mut next = scene.acquire(&waiting());
    assert!(is_waiting(&mut next));
    refused(&mut scene.acquire(&once()));
    released(holder);
    released(acquired(&mut next));
    scene.hold_elsewhere();
    assert!(is_waiting(&mut scene.acquire(&waiting())));
    let mut request = once();
    request.retry.limit = RetryLimit::Wait(SECOND);
    let mut acquiring = scene.acquire(&request);
    assert!(is_waiting(&mut acquiring));
    scene.clock.advance(SECOND);
    refused(&mut acquiring);
}

#[test]
fn one_who_is_cancelled_in_line_leaves_at_once() {
    let scene = Scene::new();
    let request = waiting();
    let holder = scene.acquired(&request);
    let mut first = scene.acquire(&request);
    let mut second = scene.acquire(&request);
    assert!(is_waiting(&mut first) && is_waiting(&mut second));
    drop(first);
    released(holder);
    drop(acquired(&mut second));
    assert_eq!(scene.client.shared.lines.known(), 0);
    assert!(scene.is_free());
}

#[test]
fn one_who_is_cancelled_when_its_turn_has_come_passes_it_on() {
    for is_fenced in [false, true] {
        let scene = Scene::new();
        let request = waiting();
        let mut other = waiting();
        other.fencing = is_fenced;
        let holder = scene.acquired(&request);
        let mut first = scene.acquire(&other);
        let mut second = scene.acquire(&other);
        assert!(is_waiting(&mut first) && is_waiting(&mut second));
        assert_eq!(released(holder), Released::HandedOver);
        drop(first);
        drop(acquired(&mut second));
        assert!(scene.is_free());

        let holder = scene.acquired(&request);
        let mut only = scene.acquire(&other);
        assert!(is_waiting(&mut only));
        assert_eq!(released(holder), Released::HandedOver);
        drop(only);
        assert!(scene.is_free(), "the release that was left to it");
        assert_eq!(scene.client.shared.lines.known(), 0);
    }
}

#[test]
fn one_who_tries_once_hears_at_once_who_has_the_lock() {
    let scene = Scene::new();
    let request = once();
    let holder = scene.acquired(&request);
    scene.nodes.iter().for_each(MemoryNode::cut);
    scene.clock.advance(SECOND);
    let AcquireError::Contended(contended) = refused(&mut scene.acquire(&request)) else {
        panic!("nobody has to be asked");
    };
    assert_eq!(
        contended.holding.remaining(),
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
fn one_who_pauses_and_is_not_polled_loses_its_turn() {
    let scene = Scene::new();
    let patient = waiting();
    scene.hold_elsewhere();
    let mut head = scene.acquire(&patient);
    let mut next = scene.acquire(&patient);
    assert!(is_waiting(&mut head) && is_waiting(&mut next));
    scene.free_elsewhere();
    // A pause is 100 to 200 ms long, and four node timeouts are 200 ms.
    scene.clock.advance(MS * 299);
    assert!(
        is_waiting(&mut next),
        "the other one has a moment to ask the nodes"
    );
    scene.clock.advance(MS * 101);
    let lease = acquired(&mut next);
    // It stands in line again, where it wants no reports of the nodes.
    assert_eq!(scene.nodes[0].watches(), 1);
    assert!(is_waiting(&mut head));
    assert_eq!(scene.nodes[0].watches(), 0);
    released(lease);
    scene.clock.advance(MS * 10);
    drop(acquired(&mut head));
    assert!(scene.is_free());
}

#[test]
fn a_turn_that_was_given_to_one_who_is_not_polled_goes_to_the_next() {
    let scene = Scene::new();
    let request = waiting();
    let holder = scene.acquired(&request);
    let mut sleeper = scene.acquire(&request);
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut sleeper) && is_waiting(&mut next));
    assert_eq!(released(holder), Released::HandedOver);
    scene.clock.advance(MS * 249);
    assert!(is_waiting(&mut next));
    scene.clock.advance(MS);
    // With what is on the nodes.
    let lease = acquired(&mut next);
    assert!(is_waiting(&mut sleeper));
    released(lease);
    scene.clock.advance(MS * 10);
    drop(acquired(&mut sleeper));
    assert!(scene.is_free());
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
fn a_lease_that_was_extended_keeps_the_turn_for_as_long() {
    let scene = Scene::new();
    let request = waiting();
    let lease = scene.acquired(&request);
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    scene.clock.advance(TTL / 2);
    assert!(poll(&mut Box::pin(lease.extend(TTL))).is_ready());
    scene.clock.advance(TTL / 4 * 3);
    assert!(is_waiting(&mut next));
    let AcquireError::Contended(contended) = refused(&mut scene.acquire(&once())) else {
        panic!("it is held");
    };
    assert_eq!(
        contended.holding.remaining(),
        Remaining::Expires(lease.validity())
    );
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
