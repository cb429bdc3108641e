//! Leases on permits.

use super::permits::{key, one_of};
use super::*;

#[test]
fn a_lease_on_a_permit_is_extended_and_its_lost_keys_are_put_back() {
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
