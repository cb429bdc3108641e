//! A released lock is left free for clients that poll.

use super::*;

const DELAY: Duration = Duration::from_millis(300);

fn scene() -> Scene {
    Scene::with(|settings| settings.reacquire_delay = DELAY)
}

/// A scene with a caller that waits for a lock that `holder` holds.
fn behind(holder: &str) -> (Scene, Acquiring) {
    let scene = scene();
    for node in &scene.nodes {
        node.put(b"r", holder.as_bytes(), SECOND * 60);
    }
    let mut request = waiting();
    // No attempt is due by itself.
    request.retry.delay = SECOND * 100;
    let mut caller = scene.acquire(&request);
    assert!(is_waiting(&mut caller));
    scene.free_elsewhere();
    (scene, caller)
}

#[test]
fn the_next_call_asks_once_the_delay_is_over() {
    let scene = scene();
    released(scene.acquired(&waiting()));
    let mut next = scene.acquire(&waiting());
    assert!(is_waiting(&mut next) && scene.is_free());
    scene.clock.advance(DELAY / 2);
    assert!(is_waiting(&mut next) && scene.is_free());
    scene.clock.advance(DELAY / 2);
    acquired(&mut next);
}

#[test]
fn a_caller_in_line_is_handed_nothing_over_and_waits_too() {
    let scene = scene();
    let lease = scene.acquired(&waiting());
    let mut next = scene.acquire(&waiting());
    assert!(is_waiting(&mut next));
    released(lease);
    assert!(is_waiting(&mut next) && scene.is_free());
    scene.clock.advance(DELAY);
    acquired(&mut next);
}

#[test]
fn another_lock_is_acquired_at_once() {
    let scene = scene();
    released(scene.acquired(&waiting()));
    let mut other = waiting();
    other.resource = "s".into();
    scene.acquired(&other);
}

#[test]
fn once_a_client_that_polls_has_come_the_delay_is_over() {
    let scene = scene();
    released(scene.acquired(&waiting()));
    let mut next = scene.acquire(&waiting());
    assert!(is_waiting(&mut next));
    scene.hold_elsewhere();
    assert!(is_waiting(&mut next), "refused");
    scene.free_elsewhere();
    acquired(&mut next);
}

#[test]
fn a_lock_of_another_client_is_asked_for_as_soon_as_it_is_free() {
    let (_scene, mut caller) = behind("another client's value");
    acquired(&mut caller);
}

#[test]
fn a_lock_of_another_process_of_this_library_is_left_free() {
    for holder in [
        format!("web-7/3121/{}", "0".repeat(32)),
        "redlock:readers".to_owned(),
    ] {
        let (scene, mut caller) = behind(&holder);
        assert!(is_waiting(&mut caller) && scene.is_free());
        scene.clock.advance(DELAY);
        acquired(&mut caller);
    }
}

#[test]
fn the_last_attempt_of_a_caller_comes_before_the_end_of_its_time() {
    let scene = scene();
    released(scene.acquired(&waiting()));
    let mut request = waiting();
    request.retry.limit = RetryLimit::Wait(DELAY / 2);
    let mut next = scene.acquire(&request);
    assert!(is_waiting(&mut next));
    scene.clock.advance(DELAY / 2);
    acquired(&mut next);
}

#[test]
fn a_caller_that_goes_away_in_the_delay_leaves_the_turn_to_the_next_one() {
    let scene = scene();
    released(scene.acquired(&waiting()));
    let mut gone = scene.acquire(&waiting());
    assert!(is_waiting(&mut gone));
    let mut next = scene.acquire(&waiting());
    assert!(is_waiting(&mut next));
    drop(gone);
    assert!(is_waiting(&mut next) && scene.is_free());
    scene.clock.advance(DELAY);
    acquired(&mut next);
}

#[test]
fn locks_whose_delay_is_over_are_forgotten() {
    let left = crate::waiting::left_free::LeftFree::new(DELAY);
    let at = |ms: u32| crate::env::Moment::from_origin(MS * ms);
    for n in 0..1000 {
        left.released(&format!("order:{n}").into(), at(1000 * n));
    }
    assert!(left.known() <= 128, "{}", left.known());
}
