//! Leases on permits, and operations on them that no client of this library sends.

use super::permits::{key, one_of};
use super::*;
use crate::node::operation::{Operation, Want};

#[test]
fn tokens_of_a_permit_grow_and_a_majority_has_the_counter() {
    let scene = Scene::new();
    let mut request = one_of(2);
    request.fencing = true;
    let mut last = [None; 2];
    for _ in 0..20 {
        let lease = scene.acquired(&request);
        let permit = usize::from(lease.permit().unwrap());
        let token = lease.fencing_token();
        assert!(token > last[permit], "{token:?} after {last:?}");
        last[permit] = token;
    }
    assert!(last.iter().all(Option::is_some), "both permits were drawn");
    let plain = scene.acquired(&Request {
        fencing: true,
        ..once()
    });
    assert!(
        plain.fencing_token() > last[0],
        "a plain lock is a holder of permit 0"
    );
}

#[test]
fn a_lease_on_permits_is_extended_and_its_lost_keys_are_put_back() {
    let scene = Scene::new();
    let lease = scene.acquired(&one_of(4));
    let held = scene.permits_at(0);
    scene.nodes[1].delete(&key(held[0]));
    scene.clock.advance(SECOND * 9);
    assert!(poll(&mut Box::pin(lease.extend(TTL))).is_ready());
    scene.clock.advance(SECOND * 9);
    for node in 0..3 {
        assert_eq!(scene.permits_at(node), held, "node {node}");
    }
    drop(lease);
    assert!(scene.no_permit_is_held());
}

#[test]
fn an_acquisition_of_permits_that_names_none_is_refused() {
    let scene = Scene::new();
    let entropy = Counting(9.into());
    let token = crate::node::OwnerToken::draw("web/1", &entropy);
    let want = Want::AcquirePermits { ttl: TTL, hint: 0 };
    let operation = Operation::new("r".into(), token, want);
    let answer = poll(&mut Box::pin(crate::testing::ask(
        &scene.nodes[0],
        operation,
    )));
    assert!(
        matches!(answer, Poll::Ready(crate::node::Answer::Failed(_))),
        "{answer:?}"
    );
}
