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
fn stands(turn: &mut Turn, scene: &Scene) -> Option<bool> {
    let looked = lines(scene).stand(turn, None, scene.client.now());
    looked.ok().map(|again| again.is_none())
}

fn has_turn(turn: &mut Turn, scene: &Scene) -> bool {
    stands(turn, scene).expect("there is room")
}

#[test]
fn the_last_to_leave_keeps_a_line_that_a_caller_has_entered() {
    let scene = Scene::new();
    let mut holder = enter(&scene, "r");
    assert!(has_turn(&mut holder, &scene));
    // The previous caller found the line empty, and checks again under both mutexes.
    lines(&scene).forget(&holder.line, scene.client.now());
    let mut next = enter(&scene, "r");
    assert!(!has_turn(&mut next, &scene), "one key has two lines");
    drop(holder);
    assert!(has_turn(&mut next, &scene));
}

#[test]
fn a_caller_that_finds_its_line_dead_stands_in_the_new_one() {
    let scene = Scene::new();
    let mut late = enter(&scene, "r");
    let mut last = enter(&scene, "r");
    assert!(has_turn(&mut last, &scene));
    drop(last);
    let mut holder = enter(&scene, "r");
    assert!(has_turn(&mut holder, &scene));
    assert!(!has_turn(&mut late, &scene), "it stands in a dead line");
    // A line that died earlier must not remove the new line.
    lines(&scene).forget(&late.line, scene.client.now());
    assert!(Arc::ptr_eq(&late.line, &enter(&scene, "r").line));
    drop(holder);
    assert!(has_turn(&mut late, &scene));
    drop(late);
    assert_eq!(lines(&scene).count(), 0);
}

#[test]
fn callers_that_race_for_the_last_place_keep_the_limit() {
    const MOST: u32 = 2;
    let scene = Scene::with(Settings::default().max_waiters(MOST));
    let names = ["r", "s", "t", "u"];
    let mut holders = names.map(|name| enter(&scene, name));
    assert!(holders.iter_mut().all(|it| has_turn(it, &scene)));
    let waiting = AtomicU32::new(0);
    thread::scope(|threads| {
        for name in names {
            let (scene, waiting) = (&scene, &waiting);
            threads.spawn(move || {
                for _ in 0..20_000 {
                    let mut turn = enter(scene, name);
                    if stands(&mut turn, scene).is_some() {
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
    let line = Arc::clone(&enter(&scene, "r").line);
    hold("r");
    assert!(Arc::ptr_eq(&line, &enter(&scene, "r").line));
    // With many lines, lines that have been empty for a while are removed.
    for number in 1..MANY_LINES {
        hold(&number.to_string());
    }
    assert_eq!(lines(&scene).count(), MANY_LINES);
    hold("s");
    assert!(lines(&scene).count() < 20, "{}", lines(&scene).count());
    assert!(!Arc::ptr_eq(&line, &enter(&scene, "r").line));
}
