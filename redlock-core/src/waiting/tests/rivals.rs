//! The order in which processes ask for a lock that has become free.

use super::blind::patient;
use super::*;
use crate::waiting::fair_share::BREAK;

/// The time that the nodes need to grant the lock.
const GRANT: Duration = Duration::from_millis(3);

/// Makes process `pid` hold `r`, even if another process holds it.
fn held_by(scene: &Scene, pid: u32) {
    let token = format!("web-7/{pid}/00112233445566778899aabbccddeeff");
    for node in &scene.nodes {
        node.put(b"r", token.as_bytes(), SECOND * 60);
    }
}

/// Returns a caller that waits until another process releases the lock. This process had the lock after process 1 and
/// before process 2, which holds it now. Its own attempt took `took`.
fn waits_behind_two(scene: &Scene, took: Duration) -> Acquiring {
    held_by(scene, 1);
    let mut first = scene.waits(&patient());
    scene.free_elsewhere();
    drop(acquired(&mut first));
    scene.nodes.iter().for_each(MemoryNode::hang);
    let mut second = scene.waits(&patient());
    for _ in 0..BREAK {
        scene.serve();
        assert!(is_waiting(&mut second));
    }
    scene.clock.advance(took);
    scene.nodes.iter().for_each(MemoryNode::restore);
    drop(acquired(&mut second));
    held_by(scene, 2);
    scene.waits(&patient())
}

#[test]
fn a_process_lets_one_that_was_served_longer_ago_go_first() {
    let scene = Scene::new();
    let mut waits = waits_behind_two(&scene, GRANT);
    scene.free_elsewhere();
    assert!(is_waiting(&mut waits));
    held_by(&scene, 1);
    scene.clock.advance(GRANT);
    assert!(is_waiting(&mut waits));
    scene.free_elsewhere();
    acquired(&mut waits);
}

#[test]
fn a_process_asks_after_a_grant_time_if_no_other_comes() {
    let scene = Scene::new();
    let mut waits = waits_behind_two(&scene, GRANT);
    scene.free_elsewhere();
    assert!(is_waiting(&mut waits));
    scene.clock.advance(GRANT.saturating_sub(MS));
    assert!(is_waiting(&mut waits));
    scene.clock.advance(MS);
    acquired(&mut waits);
}

#[test]
fn a_holder_seen_during_a_pause_counts_as_served() {
    let scene = Scene::new();
    let mut waits = waits_behind_two(&scene, GRANT);
    // The caller must ask because its pause is over, and not because the lock is free.
    held_by(&scene, 1);
    held_by(&scene, 2);
    scene.clock.advance(SECOND * 3);
    assert!(is_waiting(&mut waits));
    scene.free_elsewhere();
    acquired(&mut waits);
}

/// Polls a caller late, which looks like slow nodes.
#[test]
fn a_process_polled_late_waits_as_for_the_slowest_nodes() {
    let scene = Scene::new();
    let mut waits = waits_behind_two(&scene, SECOND * 3);
    scene.free_elsewhere();
    assert!(is_waiting(&mut waits));
    scene.clock.advance(Settings::DEFAULT_NODE_TIMEOUT);
    acquired(&mut waits);
}
