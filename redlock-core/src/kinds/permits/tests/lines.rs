//! Permits on in-process nodes: the lines, streaks and queues of their clients.

use crate::kinds::Kind;
use crate::node::Obstacle;
use crate::waiting::HANDOVER_TIME;
use crate::waiting::budget::SHORTEST_CALL;
use crate::waiting::tests::blind::{acquired_within, made, untold, waits_for};
use crate::waiting::tests::*;

fn one_of(count: u16) -> Request {
    once().kind(Kind::Permits(count))
}

fn waiting_for_one_of(count: u16) -> Request {
    waiting().kind(Kind::Permits(count))
}

#[test]
fn a_permit_that_is_released_goes_to_the_first_in_line_at_once() {
    let scene = Scene::new();
    let mut held: Vec<_> = (0..8).map(|_| scene.acquired(&one_of(8))).collect();
    let mut next = scene.waits(&waiting_for_one_of(8));
    let released_here = held.remove(3);
    let permit = released_here.permit();
    drop(released_here);
    let next = acquired(&mut next);
    assert_eq!(next.permit(), permit);
}

#[test]
fn one_permit_is_a_plain_lock_and_stands_in_its_line() {
    let scene = Scene::new();
    let lease = scene.acquired(&one_of(1));
    assert_eq!(lease.permit(), Some(0));
    assert!(scene.nodes.iter().all(|node| node.keys() == [b"r"]));
    let mut next = scene.waits(&waiting());
    assert_eq!(released(lease), Released::HandedOver);
    let next = acquired(&mut next);
    assert_eq!((next.permit(), next.kind()), (None, Kind::Plain));
}

#[test]
fn callers_of_a_process_ask_one_after_another() {
    let scene = Scene::new();
    let (set, attempts) = untold(&scene);
    let held: Vec<_> = (0..2).map(|_| scene.acquired(&one_of(2))).collect();
    let request = waiting_for_one_of(2);
    let mut waiting: Vec<_> = (0..50).map(|_| scene.acquire_on(&set, &request)).collect();
    assert!(waiting.iter_mut().all(is_waiting));
    assert_eq!(made(&attempts), 1);
    drop(held);
}

const QUEUE: &[u8] = b"redlock:queue:2:{r}";

/// Deletes the permits' keys on the nodes. The holders are not told.
fn free_all(scene: &Scene) {
    for node in &scene.nodes {
        node.delete(b"r");
        node.delete(b"redlock:permit:1:{r}");
    }
}

fn has_queue(scene: &Scene) -> bool {
    scene.nodes.iter().any(|node| node.get(QUEUE).is_some())
}

#[test]
fn a_process_that_releases_a_permit_lets_one_that_waits_go_first() {
    let first = Scene::new();
    let (second, third) = (first.another(), first.another());
    let mut held: Vec<_> = (0..2).map(|_| first.acquired(&one_of(2))).collect();
    let mut others = [&second, &third].map(|it| it.waits(&waiting_for_one_of(2)));
    let mut own = first.waits(&waiting_for_one_of(2));
    first.clock.advance(HANDOVER_TIME * 2);
    for other in &mut others {
        drop(held.pop());
        assert!(is_waiting(&mut own), "it asked at once, and goes last");
        held.insert(0, acquired(other));
    }
    drop(held.pop());
    acquired(&mut own);
}

#[test]
fn a_caller_that_comes_once_behind_others_is_told_that_they_wait() {
    let first = Scene::new();
    let held: Vec<_> = (0..2).map(|_| first.acquired(&one_of(2))).collect();
    let other = first.another().waits(&waiting_for_one_of(2));
    drop(held);
    first.nodes[0].put(b"r", b"someone", SECOND * 60);
    first.nodes[1].put(b"r", b"someone", SECOND * 60);
    let told = contended(refused(&mut first.acquire(&one_of(2))));
    assert_eq!(told.holding.obstacle, Obstacle::EarlierClients);
    let text = "left to other clients, which have waited for longer";
    assert!(told.to_string().starts_with(text), "{told}");
    drop(other);
}

#[test]
fn a_permit_that_was_held_briefly_stays_with_its_process() {
    let first = Scene::new();
    let mut own = [0; 5].map(|_| first.acquire(&waiting_for_one_of(2)));
    let mut held: Vec<_> = own[..2].iter_mut().map(acquired).collect();
    assert!(own[2..].iter_mut().all(is_waiting));
    let mut other = first.another().waits(&waiting_for_one_of(2));
    drop(held.pop());
    let brief = acquired(&mut own[2]);
    assert!(is_waiting(&mut own[3]));
    first.clock.advance(HANDOVER_TIME * 2);
    drop(brief);
    assert!(is_waiting(&mut own[3]), "the streak is spent");
    acquired(&mut other);
}

/// The nodes would refuse an attempt while the streak's permit is held.
#[test]
fn the_next_caller_of_a_streak_waits_for_the_release_here() {
    let first = Scene::new();
    let mut own = [0; 6].map(|_| first.acquire(&waiting_for_one_of(2)));
    let mut held: Vec<_> = own[..2].iter_mut().map(acquired).collect();
    assert!(own[2..].iter_mut().all(is_waiting));
    for next in [2, 3, 4] {
        drop(held.pop());
        held.push(acquired(&mut own[next]));
        assert!(is_waiting(&mut own[next + 1]));
    }
    free_all(&first);
    assert!(is_waiting(&mut own[5]), "it does not ask");
    first.clock.advance(HANDOVER_TIME * 2);
    acquired(&mut own[5]);
}

#[test]
fn permits_released_at_once_go_to_as_many_callers() {
    let first = Scene::new();
    let mut own = [0; 6].map(|_| first.acquire(&waiting_for_one_of(2)));
    let mut held: Vec<_> = own[..2].iter_mut().map(acquired).collect();
    assert!(own[2..].iter_mut().all(is_waiting));
    for next in [2, 4] {
        held.clear();
        held.extend(own[next..next + 2].iter_mut().map(acquired));
    }
}

#[test]
fn a_caller_whose_process_has_all_permits_waits_for_a_release() {
    let scene = Scene::new();
    let (set, attempts) = untold(&scene);
    scene.nodes.iter().for_each(MemoryNode::hang);
    let mut own = [0; 3].map(|_| scene.acquire_on(&set, &waiting_for_one_of(2)));
    assert!(own.iter_mut().all(is_waiting));
    scene.nodes.iter().for_each(MemoryNode::restore);
    let [first, second, third] = &mut own;
    let mut held = [first, second].map(|it| Some(acquired(it)));
    assert!(is_waiting(third));
    assert_eq!(made(&attempts), 2);
    held[0] = None;
    acquired(third);
    assert_eq!(made(&attempts), 3);
}

/// The next release ends the pause after the client ahead got its permit.
#[test]
fn a_client_behind_another_asks_at_the_next_release() {
    let scene = Scene::new();
    let mut held: Vec<_> = (0..2).map(|_| scene.acquired(&one_of(2))).collect();
    let mut next = scene.another().waits(&waiting_for_one_of(2));
    let mut last = scene.another().waits(&waiting_for_one_of(2));
    drop(held.pop());
    assert!(is_waiting(&mut last));
    let _next = acquired(&mut next);
    assert!(is_waiting(&mut last));
    drop(held.pop());
    acquired(&mut last);
}

#[test]
fn a_client_behind_one_that_died_takes_a_second_free_permit() {
    let scene = Scene::new();
    let mut held: Vec<_> = (0..3).map(|_| scene.acquired(&one_of(3))).collect();
    std::mem::forget(scene.another().waits(&waiting_for_one_of(3)));
    let mut next = scene.another().waits(&waiting_for_one_of(3));
    drop(held.pop());
    assert!(is_waiting(&mut next));
    drop(held.pop());
    acquired(&mut next);
}

/// The client ahead may have died, or may be ahead at one node only, and no node reports this.
#[test]
fn a_client_behind_another_soon_asks_again() {
    let scene = Scene::new();
    let mut held: Vec<_> = (0..2).map(|_| scene.acquired(&one_of(2))).collect();
    let died = scene.another().waits(&waiting_for_one_of(2));
    let mut next = scene.another().waits(&waiting_for_one_of(2));
    drop(held.pop());
    assert!(is_waiting(&mut next));
    drop(died);
    scene.clock.advance(MS);
    acquired(&mut next);
}

#[test]
fn a_client_behind_another_asks_blind_nodes_again_soon() {
    let scene = Scene::new();
    let (set, attempts) = untold(&scene);
    let mut held: Vec<_> = (0..2).map(|_| scene.acquired(&one_of(2))).collect();
    let mut request = waiting_for_one_of(2);
    request.retry_delay = SECOND * 60;
    let ahead = scene.another().waits(&request);
    let mut next = scene.another().acquire_on(&set, &request);
    assert!(is_waiting(&mut next));
    drop(held.pop());
    while made(&attempts) < 2 {
        scene.clock.advance(MS * 10);
        assert!(is_waiting(&mut next));
    }
    drop(ahead);
    scene.clock.advance(MS * 10);
    acquired(&mut next);
}

#[test]
fn a_client_that_won_is_last_also_where_it_was_refused() {
    let scene = Scene::new();
    let mut held: Vec<_> = (0..2).map(|_| scene.acquired(&one_of(2))).collect();
    let mut next = scene.another().waits(&waiting_for_one_of(2));
    let last = scene.another().waits(&waiting_for_one_of(2));
    drop(held.pop());
    for key in [&b"r"[..], b"redlock:permit:1:{r}"] {
        scene.nodes[2].put(key, b"someone", SECOND * 60);
    }
    let lease = acquired(&mut next);
    let [first, .., refused] = [0, 1, 2].map(|node| {
        let queue = scene.nodes[node].get(QUEUE).unwrap();
        let clients = queue.chunks(36).map(|line| line[..16].to_vec());
        clients.collect::<Vec<_>>()
    });
    assert_eq!(first.len(), 2);
    assert_eq!(first, refused);
    drop((lease, last));
}

#[test]
fn a_client_that_waits_no_longer_leaves_its_place_to_its_followers() {
    let scene = Scene::new();
    let held: Vec<_> = (0..2).map(|_| scene.acquired(&one_of(2))).collect();
    let other = scene.another();
    let mut waits = [0; 2].map(|_| other.acquire(&waiting_for_one_of(2)));
    // The second caller is in line when the nodes refuse the first one again.
    for _ in 0..3 {
        assert!(waits.iter_mut().all(is_waiting));
        scene.clock.advance(SECOND);
    }
    let [gives_up, mut follows] = waits;
    drop(gives_up);
    assert!(has_queue(&scene));
    assert!(is_waiting(&mut follows));
    drop(follows);
    assert!(!has_queue(&scene));
    drop(held);
}

#[test]
fn a_place_goes_with_the_last_caller_that_was_refused() {
    let scene = Scene::new();
    let _held = [0; 2].map(|_| scene.acquired(&one_of(2)));
    let other = scene.another();
    for leaves_first in [0, 1] {
        let mut waits = [0; 2].map(|_| other.acquire(&waiting_for_one_of(2)));
        for _ in 0..3 {
            assert!(waits.iter_mut().all(is_waiting));
            scene.clock.advance(SECOND);
        }
        let mut waits = Vec::from(waits);
        drop(waits.remove(leaves_first));
        assert!(has_queue(&scene));
        drop(waits);
        assert!(!has_queue(&scene), "{leaves_first}");
    }
}

#[test]
fn a_place_stays_for_no_caller_that_came_after_the_refusal() {
    let scene = Scene::new();
    let _held = [0; 2].map(|_| scene.acquired(&one_of(2)));
    let other = scene.another();
    let refused = other.waits(&waiting_for_one_of(2));
    let mut later = other.waits(&waiting_for_one_of(2));
    drop(refused);
    assert!(!has_queue(&scene));
    assert!(is_waiting(&mut later));
    assert!(has_queue(&scene), "it was refused too");
}

#[test]
fn a_caller_that_came_during_an_attempt_keeps_the_place() {
    let scene = Scene::new();
    let _held = [0; 2].map(|_| scene.acquired(&one_of(2)));
    let other = scene.another();
    scene.nodes.iter().for_each(MemoryNode::hang);
    let mut waits = [0; 2].map(|_| other.waits(&waiting_for_one_of(2)));
    scene.nodes.iter().for_each(MemoryNode::restore);
    assert!(waits.iter_mut().all(is_waiting));
    let [gives_up, _follows] = waits;
    drop(gives_up);
    assert!(has_queue(&scene));
}

#[test]
fn a_client_that_has_all_permits_waits_without_a_queue() {
    let scene = Scene::new();
    scene.nodes.iter().for_each(MemoryNode::hang);
    let mut callers = [0; 3].map(|_| scene.waits(&waiting_for_one_of(2)));
    scene.nodes.iter().for_each(MemoryNode::restore);
    let [first, second, third] = &mut callers;
    let _held = [first, second].map(acquired);
    assert!(is_waiting(third));
    scene.clock.advance(HANDOVER_TIME);
    assert!(is_waiting(third), "the nodes refused it");
    assert!(!has_queue(&scene));
    let _other = scene.another().waits(&waiting_for_one_of(2));
    assert!(has_queue(&scene));
}

#[test]
fn those_who_wait_for_one_of_two_delay_none_of_four() {
    let scene = Scene::new();
    let _held = [0; 2].map(|_| scene.acquired(&one_of(2)));
    let _waiting = [0; 2].map(|_| scene.another().waits(&waiting_for_one_of(2)));
    scene.another().acquired(&one_of(4));
}

#[test]
fn a_client_that_died_keeps_a_free_permit_back_for_a_moment() {
    let scene = Scene::new();
    let held: Vec<_> = (0..2).map(|_| scene.acquired(&one_of(2))).collect();
    // The client dies: its process never runs again.
    std::mem::forget(scene.another().waits(&waiting_for_one_of(2)));
    let mut next = scene.another().waits(&waiting_for_one_of(2));
    let mut held = held.into_iter();
    drop(held.next());
    waits_for(SHORTEST_CALL * 9 / 10, &scene, &mut next);
    drop(acquired_within(MS * 20, &scene, &mut next));
}
