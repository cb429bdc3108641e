//! Lines: their callers, their removal, and the limits on waiters.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::thread;

use super::*;
use crate::request::Kind;
use crate::waiting::lines::MANY_LINES;
use crate::waiting::{LineKey, Lines, Turn};

fn lines(scene: &Scene) -> &Arc<Lines> {
    &scene.client.shared.lines
}

fn enter(scene: &Scene, name: &str) -> Turn {
    let key = LineKey::new(&name.into(), Kind::Plain, &scene.set);
    lines(scene).enter(key)
}

/// Waits in line. Returns true if the turn has come, and `None` at a limit on waiters.
fn stands(turn: &Turn, scene: &Scene) -> Option<bool> {
    let looked = lines(scene).stand(turn, None, scene.client.now());
    looked.ok().map(|again| again.is_none())
}

fn has_turn(turn: &Turn, scene: &Scene) -> bool {
    stands(turn, scene).expect("there is room")
}

#[test]
fn a_line_that_a_caller_has_entered_survives_a_sweep() {
    let scene = Scene::new();
    let early = enter(&scene, "r");
    lines(&scene).sweep();
    let next = enter(&scene, "r");
    assert!(has_turn(&early, &scene));
    assert!(!has_turn(&next, &scene), "one key has two lines");
    drop(early);
    lines(&scene).sweep();
    assert!(has_turn(&next, &scene));
    drop(next);
    lines(&scene).sweep();
    assert_eq!(lines(&scene).count(), 0);
}

#[test]
fn callers_that_race_for_the_last_place_keep_the_limit() {
    const MOST: u32 = 2;
    let scene = Scene::with(Settings::default().max_waiters(MOST));
    let names = ["r", "s", "t", "u"];
    let holders = names.map(|name| enter(&scene, name));
    assert!(holders.iter().all(|it| has_turn(it, &scene)));
    let waiting = AtomicU32::new(0);
    thread::scope(|threads| {
        for name in names {
            let (scene, waiting) = (&scene, &waiting);
            threads.spawn(move || {
                for _ in 0..20_000 {
                    let turn = enter(scene, name);
                    if stands(&turn, scene).is_some() {
                        assert!(waiting.fetch_add(1, SeqCst) < MOST, "too many wait");
                        // Let other callers come.
                        thread::yield_now();
                        waiting.fetch_sub(1, SeqCst);
                    }
                }
            });
        }
    });
    assert_eq!(lines(&scene).waiting(), 0);
}

#[test]
fn a_streak_outlives_the_last_caller_of_its_line() {
    let scene = Scene::new();
    let hold = |name: &str| {
        let lease = scene.acquired(&Request::new(name));
        scene.clock.advance(MS);
        released(lease);
    };
    hold("r");
    let line = Arc::downgrade(&enter(&scene, "r").line);
    hold("r");
    assert_eq!(line.as_ptr(), Arc::as_ptr(&enter(&scene, "r").line));
    // With many lines, lines that have been empty for a while are removed.
    for number in 1..MANY_LINES {
        hold(&number.to_string());
    }
    assert_eq!(lines(&scene).count(), MANY_LINES);
    hold("s");
    assert!(lines(&scene).count() < 20, "{}", lines(&scene).count());
    assert!(line.upgrade().is_none());
}
