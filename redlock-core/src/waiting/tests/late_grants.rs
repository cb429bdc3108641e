//! Leases whose grants came late, and their extensions.

use super::*;

const NODE_TIMEOUT: Duration = Duration::from_millis(50);

/// The whole of an extension over nodes that answer at once.
pub(super) fn extended(lease: &Lease) -> bool {
    match poll(&mut Box::pin(lease.extend(TTL))) {
        Poll::Ready(extended) => extended.is_ok(),
        Poll::Pending => false,
    }
}

#[test]
fn a_silent_majority_is_waited_for_for_the_node_timeout_and_no_longer_than_a_quarter_of_the_ttl() {
    for (ttl, limit) in [(TTL, NODE_TIMEOUT), (MS * 100, MS * 25)] {
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

/// Tries for 200 µs.
fn impatient() -> Request {
    let mut request = waiting();
    request.retry.limit = RetryLimit::Wait(SECOND / 5000);
    request
}

/// A process stands still while all nodes answer: the answers are there when it looks, and so is the
/// end of its time.
#[test]
fn a_lease_that_was_won_by_grants_behind_the_attempts_time_is_extended() {
    for (request, still_for) in [(waiting(), MS * 60), (impatient(), MS)] {
        let scene = Scene::new();
        scene.nodes.iter().for_each(MemoryNode::hang);
        let mut acquiring = scene.acquire(&request);
        assert!(is_waiting(&mut acquiring));
        scene.clock.advance(still_for);
        scene.nodes.iter().for_each(MemoryNode::restore);
        let lease = acquired(&mut acquiring);
        assert_eq!(lease.votes(), 3);
        for _ in 0..3 {
            assert!(extended(&lease), "{:?}", lease.over());
        }
        assert_eq!(released(lease), Released::Confirmed);
        assert!(scene.is_free());
    }
}

#[test]
fn a_third_grant_behind_the_return_makes_up_for_a_node_that_dies() {
    for round in 0..1000 {
        let scene = Scene::new();
        scene.nodes[2].hang();
        let lease = scene.acquired(&impatient());
        assert_eq!(lease.votes(), 2);
        scene.clock.advance(MS);
        scene.nodes[2].restore();
        // Either of the others restarts empty, or is gone.
        let other = &scene.nodes[round % 2];
        if round % 4 < 2 {
            other.delete(b"r");
        } else {
            other.cut();
        }
        scene.clock.advance(lease.validity() / 3);
        assert!(extended(&lease), "{:?}", lease.over());
        assert_eq!(lease.over(), None);
    }
}

/// By then the keys on the other nodes may have been gone in between.
#[test]
fn a_third_grant_behind_the_nodes_time_makes_up_for_nothing() {
    let scene = Scene::new();
    scene.nodes[2].hang();
    let lease = scene.acquired(&waiting());
    scene.clock.advance(NODE_TIMEOUT + MS);
    scene.nodes[2].restore();
    assert_eq!(lease.votes(), 3);
    scene.nodes[0].delete(b"r");
    assert!(!extended(&lease));
    assert_eq!(lease.over(), Some(LeaseEnd::Taken(None)));
}

/// With a short ttl the time is a quarter of the ttl, also if the node timeout is longer.
#[test]
fn a_third_grant_behind_a_quarter_of_the_ttl_makes_up_for_nothing() {
    let scene = Scene::new();
    scene.nodes[2].hang();
    let lease = scene.acquired(&waiting().ttl(MS * 100));
    scene.clock.advance(MS * 26);
    scene.nodes[2].restore();
    assert_eq!(lease.votes(), 3);
    scene.nodes[0].delete(b"r");
    assert!(!extended(&lease));
    assert_eq!(lease.over(), Some(LeaseEnd::Taken(None)));
}

/// The first two nodes grant in time, the third one so long after. Then one of the first two may have
/// forgotten its grant.
fn forgotten_by_one(third_after: Duration) -> (Scene, Lease) {
    let scene = Scene::new();
    scene.nodes[2].hang();
    let lease = scene.acquired(&waiting());
    scene.clock.advance(third_after);
    scene.nodes[2].restore();
    assert_eq!(lease.votes(), 3);
    scene.nodes[0].begin_epoch();
    lease.recheck();
    (scene, lease)
}

#[test]
fn a_third_grant_behind_the_nodes_time_does_not_stand_in_for_a_node_that_forgot() {
    let (_scene, lease) = forgotten_by_one(NODE_TIMEOUT);
    assert_eq!(lease.over(), None);
    let (_scene, lease) = forgotten_by_one(NODE_TIMEOUT + MS);
    assert_eq!(lease.over(), Some(LeaseEnd::Forgotten));
}

#[test]
fn a_third_grant_behind_the_nodes_time_vouches_once_extensions_have_proved_it() {
    let scene = Scene::new();
    scene.nodes[2].hang();
    let lease = scene.acquired(&waiting());
    scene.clock.advance(NODE_TIMEOUT + MS);
    scene.nodes[2].restore();
    for not_resting_on in [&["c"][..], &["c"], &[]] {
        let not_resting: Vec<&str> = lease.not_resting_on().collect();
        assert_eq!(not_resting, not_resting_on);
        assert!(extended(&lease));
    }
    scene.nodes[0].begin_epoch();
    lease.recheck();
    assert_eq!(lease.over(), None);
}
