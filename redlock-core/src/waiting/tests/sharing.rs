//! What other processes get.

use std::pin::pin;

use super::*;
use crate::env::tasks::by_hand;

/// In-process nodes answer a break's questions at once, so what shows of it is what another client
/// does before the next one is polled.
#[test]
fn after_so_many_hand_overs_others_have_their_turn() {
    let most = 3;
    let scene = Scene::with(|settings| settings.handover.most = most);
    let request = waiting();
    let mut holder = scene.acquired(&request);
    for _ in 0..most {
        let mut next = scene.acquire(&request);
        assert!(is_waiting(&mut next));
        assert_eq!(released(holder), Released::HandedOver);
        holder = acquired(&mut next);
    }
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    assert_eq!(released(holder), Released::Confirmed);
    assert!(scene.is_free());
    scene.hold_elsewhere();
    assert!(is_waiting(&mut next), "one of them was there");
    scene.free_elsewhere();
    let holder = acquired(&mut next);
    // And so on.
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    assert_eq!(released(holder), Released::HandedOver);
    drop(next);
}

#[test]
fn after_so_much_time_others_have_their_turn() {
    let scene = Scene::new();
    let request = waiting();
    let holder = scene.acquired(&request);
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    scene.clock.advance(MS * 49);
    assert_eq!(released(holder), Released::HandedOver);
    let holder = acquired(&mut next);
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    scene.clock.advance(MS);
    assert_eq!(released(holder), Released::Confirmed);
    assert!(scene.is_free());
    drop(acquired(&mut next));
}

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
