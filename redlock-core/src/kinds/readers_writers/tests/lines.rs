//! Tests of the order of readers and writers, in several processes and in one.

use crate::kinds::Kind;
use crate::kinds::readers_writers::scripts::LONGEST_TURN;
use crate::node::{Obstacle, READERS_MARKER};
use crate::waiting::tests::blind::{SOON, acquired_within, patient, waits_for};
use crate::waiting::tests::*;

const INTENT: &[u8] = b"redlock:intent:{r}";
const TURN: &[u8] = b"redlock:turn:{r}";

impl Scene {
    /// Returns the size of the turn's set: refused readers, and the mark that they are due.
    fn refused(&self) -> usize {
        self.nodes[0].entries(TURN).len()
    }

    fn intent(&self) -> Option<Vec<u8>> {
        self.nodes[0].get(INTENT)
    }
}

fn reader() -> Request {
    waiting().kind(Kind::Read)
}

fn writer() -> Request {
    waiting().kind(Kind::Write)
}

fn obstacle(error: &AcquireError) -> Obstacle {
    match error {
        AcquireError::Contended(contended) => contended.holding.obstacle,
        other => panic!("{other}"),
    }
}

#[test]
fn readers_that_a_writer_kept_out_go_in_before_the_next_writer() {
    let first = Scene::new();
    let (second, third) = (first.another(), first.another());
    let holder = first.acquired(&writer());
    let mut read = second.waits(&reader());
    let mut write = third.waits(&writer());
    assert_eq!(first.refused(), 2, "a reader, and that its turn is due");
    let intent = first.intent();
    assert!(intent.is_some());
    released(holder);
    assert!(is_waiting(&mut write), "it is the readers' turn");
    assert_eq!(first.intent(), intent, "a refused attempt leaves it");
    let lease = acquired(&mut read);
    // The turn is over, so a later reader has to wait for the writer.
    let late = refused(&mut first.acquire(&once().kind(Kind::Read)));
    assert_eq!(obstacle(&late), Obstacle::WaitingWriter);
    let waits = format!("/{}, which waits for it", std::process::id());
    assert!(late.to_string().contains(&waits), "{late}");
    assert!(is_waiting(&mut write));
    released(lease);
    let holder = acquired_within(MS * 20, &first, &mut write);
    assert_eq!(first.intent(), None);
    released(holder);
    // The late reader left no mark, so another writer gets in at once.
    let holder = first.acquired(&writer());
    released(holder);
}

#[test]
fn refused_readers_of_one_process_have_their_turn_together() {
    let first = Scene::new();
    let (second, third) = (first.another(), first.another());
    let holder = first.acquired(&writer());
    let mut reads = [0; 3].map(|_| second.acquire(&reader()));
    assert!(reads.iter_mut().all(is_waiting));
    let mut write = third.waits(&writer());
    // The nodes refuse the line once more.
    first.clock.advance(SECOND);
    assert!(reads.iter_mut().all(is_waiting));
    let mut late = second.waits(&reader());
    released(holder);
    for read in &mut reads {
        first.clock.advance(MS * 10);
        assert!(is_waiting(&mut write));
        released(acquired(read));
    }
    let holder = acquired_within(MS * 20, &first, &mut write);
    assert!(is_waiting(&mut late), "it came behind the others");
    released(holder);
    released(acquired(&mut late));
}

#[test]
fn a_writer_that_expires_leaves_readers_their_turn() {
    let first = Scene::new();
    let (second, third) = (first.another(), first.another());
    let holder = first.acquired(&writer());
    let (mut read, mut write) = (second.acquire(&reader()), third.acquire(&writer()));
    assert!(is_waiting(&mut read));
    assert!(is_waiting(&mut write));
    // The process never runs again.
    std::mem::forget(holder);
    while !first.is_free() {
        first.clock.advance(MS * 100);
        assert!(is_waiting(&mut write));
        if first.is_free() {
            break;
        }
        assert!(is_waiting(&mut read));
    }
    released(acquired(&mut read));
    released(acquired_within(MS * 20, &first, &mut write));
}

#[test]
fn a_writer_goes_in_once_refused_readers_leave_or_lose_a_turn() {
    for has_died in [false, true] {
        let first = Scene::new();
        let (second, third) = (first.another(), first.another());
        let holder = first.acquired(&writer());
        let read = second.waits(&reader());
        if has_died {
            std::mem::forget(read);
        } else {
            drop(read);
        }
        let mut write = third.waits(&writer());
        released(holder);
        if has_died {
            let turn = MS * u32::try_from(LONGEST_TURN - 10).unwrap();
            waits_for(turn, &first, &mut write);
            // The writer asks again soon, before its pause is over.
            released(acquired_within(MS * 30, &first, &mut write));
        } else {
            released(acquired(&mut write));
        }
    }
}

#[test]
fn writers_follow_each_other_at_once_if_no_reader_was_refused() {
    let first = Scene::new();
    let second = first.another();
    let holder = first.acquired(&writer());
    let mut write = second.waits(&writer());
    released(holder);
    let holder = acquired(&mut write);
    assert_eq!(first.intent(), None);
    released(holder);
    assert!(first.nodes.iter().all(|node| node.keys().is_empty()));
}

/// Tests when a writer removes its intent: everywhere when it wins after a refused attempt, and when it leaves if it
/// wins at once.
#[test]
fn a_writer_that_lost_a_node_to_a_reader_leaves_no_intent() {
    let scene = Scene::new();
    scene.nodes[1].cut();
    scene.nodes[2].cut();
    let other = scene.another();
    assert!(matches!(
        refused(&mut other.acquire(&once().kind(Kind::Read))),
        AcquireError::Unavailable(_)
    ));
    scene.nodes[1].restore();
    scene.nodes[2].restore();
    // A reader on a minority of the nodes costs the writer one vote.
    scene.nodes[0].put(b"r", b"someone", SECOND * 60);
    let lease = scene.acquired(&writer());
    assert!(scene.intent().is_some());
    released(lease);
    assert_eq!(scene.intent(), None);
}

#[test]
fn the_intent_of_a_writer_that_died_goes_by_itself() {
    let scene = Scene::new();
    let held = scene.acquired(&reader());
    let write = scene.another().waits(&writer());
    assert!(scene.intent().is_some());
    // The process never runs again.
    std::mem::forget(write);
    released(held);
    let mut read = scene.another().waits(&reader());
    released(acquired_within(SECOND, &scene, &mut read));
}

/// Tests that the nodes decide who is next.
#[test]
fn writers_of_a_process_do_not_hand_the_lock_over() {
    let scene = Scene::new();
    let first = scene.acquired(&writer());
    let mut next = scene.waits(&writer());
    assert_eq!(released(first), Released::Confirmed);
    released(acquired(&mut next));
}

/// Tests a reader that only a waiting writer keeps out. The writer gives up while other readers are in. The lock's key
/// stays, so the nodes report no change.
#[test]
fn a_reader_kept_out_by_a_waiting_writer_alone_asks_again_soon() {
    let scene = Scene::new();
    let reads = |key: &str| Request {
        resource: key.into(),
        ..patient().kind(Kind::Read)
    };
    let inside = scene.acquired(&reads("r"));
    for node in &scene.nodes {
        node.put(INTENT, b"a writer", SECOND * 60);
    }
    scene.clock.advance(SECOND);
    let mut waits = scene.acquire(&reads("r"));
    waits_for(MS * 10, &scene, &mut waits);
    for node in &scene.nodes {
        node.delete(INTENT);
    }
    drop(acquired_within(SOON, &scene, &mut waits));
    drop(inside);
}

#[test]
fn a_refused_reader_asks_again_once_the_key_is_that_of_readers() {
    let scene = Scene::new();
    scene.hold_elsewhere();
    let mut reading = scene.waits(&waiting().kind(Kind::Read));
    // Skip the time in which a change after an attempt is ignored.
    scene.clock.advance(MS * 10);
    assert!(is_waiting(&mut reading), "nothing has changed");
    // The key passes from its holder to readers directly.
    for node in &scene.nodes {
        node.put(b"r", READERS_MARKER, SECOND * 60);
    }
    acquired(&mut reading);
}
