//! Permits over in-process nodes, in lines and under leases.

use crate::kinds::Kind;
use crate::waiting::tests::blind::{made, untold};
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
    assert_eq!((next.permit(), next.kind()), (None, Kind::Exclusive));
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
