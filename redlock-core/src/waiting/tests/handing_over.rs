//! What the next one in line gets, and what it does not.

use super::*;

#[test]
fn a_lock_that_is_nearly_fresh_is_taken_over_as_it_is() {
    let scene = Scene::new();
    let request = waiting();
    let first = scene.acquired(&request);
    let (handle, token) = (first.handle(), first.token_id().to_owned());
    let before = scene.values();
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    scene.clock.advance(MS * 30);
    assert_eq!(released(first), Released::HandedOver);
    assert_eq!(
        handle.over(),
        Some(LeaseEnd::Released),
        "there are never two"
    );
    let next = acquired(&mut next);
    assert_eq!((scene.values(), next.token_id()), (before, &*token));
    assert_eq!(next.held_for(), Duration::ZERO);
    // The time of its own attempt has nothing to do with it.
    let gave_up = TTL / 100 + MS * 2 + MS * 30;
    assert_eq!(next.validity() + gave_up, TTL);
    assert!(handle.validity().is_zero() && handle.join().is_none());
    assert_eq!(released(next), Released::Confirmed);
    assert!(scene.is_free());
}

/// Hands over from a holder with `first` to one with `second` after `held`.
fn handed_over(first: &Request, held: Duration, second: &Request) -> (Scene, String, Lease) {
    let scene = Scene::new();
    let lease = scene.acquired(first);
    let token = lease.token_id().to_owned();
    let mut next = scene.acquire(second);
    assert!(is_waiting(&mut next));
    scene.clock.advance(held);
    assert_eq!(released(lease), Released::HandedOver);
    let next = acquired(&mut next);
    (scene, token, next)
}

#[test]
fn otherwise_the_next_one_gets_what_it_asked_for_behind_a_release() {
    let plain = waiting();
    let mut fenced = waiting();
    fenced.fencing = true;
    let longer = waiting().ttl(TTL * 2);
    let mut other_drift = waiting();
    other_drift.clock_drift_factor = 0.02;
    let mut demanding = waiting();
    demanding.min_validity = TTL / 1000 * 987;
    let now = MS;
    for (first, held, second) in [
        (&plain, now, &fenced),
        (&fenced, now, &plain),
        (&fenced, now, &fenced),
        (&plain, now, &longer),
        (&longer, now, &plain),
        (&plain, now, &other_drift),
        (&plain, MS * 40, &demanding),
    ] {
        let (scene, token, next) = handed_over(first, held, second);
        assert_ne!(next.token_id(), token, "{second:?}");
        let drift = second.ttl.mul_f64(second.clock_drift_factor) + MS * 2;
        assert_eq!(next.validity() + drift, second.ttl, "{second:?}");
        assert_eq!(next.fencing_token().is_some(), second.fencing);
        for node in &scene.nodes {
            assert_eq!(
                node.remaining(b"r"),
                Some(second.ttl),
                "the one before was released on all of them"
            );
        }
        drop(next);
    }
}

#[test]
fn a_lock_that_was_held_for_long_is_not_taken_over_as_it_is() {
    // Longer than hand-overs may go on, but for the first of them.
    let scene = Scene::with(|settings| settings.handover.longest = TTL);
    let request = waiting();
    let lease = scene.acquired(&request);
    let token = lease.token_id().to_owned();
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    scene.clock.advance(SECOND + MS);
    assert_eq!(released(lease), Released::HandedOver);
    let next = acquired(&mut next);
    assert_ne!(next.token_id(), token);
    assert_eq!(scene.nodes[0].remaining(b"r"), Some(TTL));
}

#[test]
fn what_was_extended_beyond_the_ttl_is_not_taken_over_as_it_is() {
    let scene = Scene::new();
    let request = waiting();
    let lease = scene.acquired(&request);
    let token = lease.token_id().to_owned();
    assert!(poll(&mut Box::pin(lease.extend(TTL * 3))).is_ready());
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    released(lease);
    let next = acquired(&mut next);
    assert_ne!(next.token_id(), token);
    assert_eq!(
        scene.nodes[0].remaining(b"r"),
        Some(TTL),
        "the next one's own"
    );
}

#[test]
fn fencing_tokens_grow_from_one_holder_to_the_next() {
    let mut request = waiting();
    request.fencing = true;
    let scene = Scene::new();
    let mut holder = scene.acquired(&request);
    for _ in 0..5 {
        let before = holder.fencing_token().unwrap();
        let mut next = scene.acquire(&request);
        assert!(is_waiting(&mut next));
        assert_eq!(released(holder), Released::HandedOver);
        holder = acquired(&mut next);
        assert!(holder.fencing_token().unwrap() > before);
    }
}

#[test]
fn a_renewed_lock_is_renewed_no_more_once_it_was_handed_over() {
    let scene = Scene::new();
    let mut renewed = waiting();
    renewed.renewal = Renewal::Unlimited;
    let request = waiting();
    let lease = scene.acquired(&renewed);
    assert!(!scene.client.shared.leases.renewals.is_empty());
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    released(lease);
    let next = acquired(&mut next);
    assert!(scene.client.shared.leases.renewals.is_empty());
    drop(next);
}

#[test]
fn nothing_is_handed_over_where_that_is_switched_off() {
    let scene = Scene::with(|settings| {
        settings.handover = Handover {
            most: 0,
            longest: SECOND,
        };
    });
    let request = waiting();
    let holder = scene.acquired(&request);
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    assert_eq!(released(holder), Released::Confirmed);
    assert!(scene.is_free());
}

#[test]
fn a_lease_that_was_lost_is_not_handed_over() {
    let scene = Scene::new();
    let request = waiting();
    let lease = scene.acquired(&request);
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    scene.hold_elsewhere();
    assert!(poll(&mut Box::pin(lease.extend(TTL))).is_ready());
    assert_eq!(lease.over(), Some(LeaseEnd::Taken(None)));
    assert!(is_waiting(&mut next), "the nodes say no");
    drop(lease);
    assert!(is_waiting(&mut next));
    scene.free_elsewhere();
    drop(acquired(&mut next));
}

#[test]
fn a_lease_that_nodes_forgot_is_not_taken_over_as_it_is() {
    let scene = Scene::new();
    let request = waiting();
    let lease = scene.acquired(&request);
    let token = lease.token_id().to_owned();
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    scene.nodes[0].begin_epoch();
    scene.nodes[1].begin_epoch();
    released(lease);
    assert_ne!(acquired(&mut next).token_id(), token);
}

#[test]
fn the_last_one_who_joined_hands_over() {
    let scene = Scene::new();
    let request = waiting();
    let holder = scene.acquired(&request);
    let joined = holder.join().unwrap();
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    assert_eq!(released(holder), Released::NotLast);
    assert!(is_waiting(&mut next));
    assert_eq!(released(joined), Released::HandedOver);
    drop(acquired(&mut next));
}
