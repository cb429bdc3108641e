//! What other processes get.

use super::*;

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
    assert!(
        scene.is_free() && is_waiting(&mut next),
        "a pause for others"
    );
    scene.hold_elsewhere();
    scene.clock.advance(MS * 20);
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
    assert!(scene.is_free() && is_waiting(&mut next));
    scene.clock.advance(MS * 10);
    drop(acquired(&mut next));
}

#[test]
fn whoever_saw_another_process_wait_its_turn_lets_it_have_the_next_one() {
    let scene = Scene::new();
    let request = waiting();
    scene.hold_elsewhere();
    let mut acquiring = scene.acquire(&request);
    assert!(is_waiting(&mut acquiring));
    scene.free_elsewhere();
    let lease = acquired(&mut acquiring);
    assert_eq!(released(lease), Released::Confirmed);
    let mut again = scene.acquire(&request);
    assert!(
        is_waiting(&mut again) && scene.is_free(),
        "a pause for others"
    );
    scene.clock.advance(MS * 10);
    let lease = acquired(&mut again);
    released(lease);
    // Nobody was there.
    drop(scene.acquired(&request));
    assert_eq!(scene.client.shared.lines.places(), 0);
}

#[test]
fn a_place_that_was_kept_for_others_is_forgotten() {
    let scene = Scene::new();
    let request = waiting();
    scene.hold_elsewhere();
    let mut acquiring = scene.acquire(&request);
    assert!(is_waiting(&mut acquiring));
    scene.free_elsewhere();
    drop(acquired(&mut acquiring));
    assert_eq!(scene.client.shared.lines.places(), 1);
    scene.clock.advance(SECOND);
    let other = Request::new("other");
    let _other = scene.acquired(&other);
    assert_eq!(scene.client.shared.lines.places(), 1, "the other one's");
}
