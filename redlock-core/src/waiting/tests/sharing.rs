//! What other processes get.

use std::pin::pin;

use super::*;
use crate::env::tasks::by_hand;

#[test]
fn a_place_that_was_kept_for_a_moment_is_forgotten() {
    let scene = Scene::new();
    let request = waiting();
    for _ in 0..3 {
        let lease = scene.acquired(&request);
        scene.clock.advance(MS * 5);
        released(lease);
        assert_eq!(scene.client.shared.lines.known(), 1);
    }
    scene.clock.advance(SECOND);
    let other = Request::new("other");
    let _other = scene.acquired(&other);
    assert_eq!(scene.client.shared.lines.known(), 1, "the other one's");
}

#[test]
fn the_sweep_of_idle_places_ends_with_the_client() {
    let (clock, tasks, environment) = by_hand();
    let node = MemoryNode::new("a", Arc::clone(&environment.clock));
    let nodes: NodeSet = [Arc::new(node) as Arc<dyn Node>].into();
    let client = Client::new(environment);
    let lease = poll(&mut pin!(client.acquire(&nodes, &waiting())));
    clock.advance(MS * 5);
    drop(lease);
    assert_eq!((client.shared.lines.known(), tasks.count()), (1, 1));
    drop(client);
    clock.advance(SECOND);
    tasks.poll();
    assert_eq!(tasks.count(), 0);
}
