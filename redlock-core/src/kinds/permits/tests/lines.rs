//! Permits over in-process nodes, in lines and under leases.

use parking_lot::Mutex;

use crate::kinds::Kind;
use crate::kinds::permits::key_of;
use crate::model::resource::Resource;
use crate::node::{Call, Effect, NodeStatus, Reply};
use crate::waiting::tests::blind::{acquired_within, made, patient, untold, waits_for};
use crate::waiting::tests::*;

const MINUTE: Duration = Duration::from_secs(60);

fn one_of(count: u16) -> Request {
    once().kind(Kind::Permits(count))
}

fn waiting_for_one_of(count: u16) -> Request {
    waiting().kind(Kind::Permits(count))
}

fn key(permit: u16) -> Vec<u8> {
    let key = key_of(&Resource::from("r"), permit, b"");
    key.names().next().unwrap().to_vec()
}

impl Scene {
    /// The permits that have a holder on the node.
    fn permits_at(&self, node: usize) -> Vec<u16> {
        let is_held = |permit: &u16| self.nodes[node].get(&key(*permit)).is_some();
        (0..256).filter(is_held).collect()
    }

    fn no_permit_is_held(&self) -> bool {
        (0..3).all(|node| self.permits_at(node).is_empty())
    }

    fn hold_permit_elsewhere(&self, nodes: &[usize], permit: u16) {
        for node in nodes {
            self.nodes[*node].put(&key(permit), b"someone", MINUTE);
        }
    }
}

#[test]
fn as_many_hold_as_there_are_permits_and_each_has_another_number() {
    let scene = Scene::new();
    let mut leases: Vec<_> = (0..4).map(|_| scene.acquired(&one_of(4))).collect();
    let mut numbers: Vec<_> = leases.iter().map(|lease| lease.permit().unwrap()).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, [0, 1, 2, 3]);
    // Also where all permits but one are held, nodes with the same keys grant the same one.
    assert!(
        leases
            .iter()
            .all(|lease| lease.attempts() == 1 && lease.votes() == 3)
    );
    let error = refused(&mut scene.acquire(&one_of(4))).to_string();
    let owner = scene.client.owner();
    assert_eq!(
        error,
        format!(
            "full: all 4 permits are held, the first to expire by {owner} for 10 s more; gave up after 1 \
             attempt in 0 ms"
        ),
    );
    let freed = leases.remove(2).permit();
    assert_eq!(scene.acquired(&one_of(4)).permit(), freed);
    drop(leases);
    assert!(scene.no_permit_is_held());
}

#[test]
fn a_refused_attempt_leaves_no_permit() {
    let scene = Scene::new();
    // Each node has another permit left, so no permit has a majority.
    for (node, held) in [[1, 2], [0, 2], [0, 1]].iter().enumerate() {
        for permit in held {
            scene.hold_permit_elsewhere(&[node], *permit);
        }
    }
    let before: Vec<_> = (0..3).map(|node| scene.permits_at(node)).collect();
    let error = refused(&mut scene.acquire(&one_of(3))).to_string();
    assert!(
        error.starts_with(
            "contested: no one of 3 permits was granted by a majority: other callers came"
        ),
        "{error}"
    );
    let after: Vec<_> = (0..3).map(|node| scene.permits_at(node)).collect();
    assert_eq!(after, before);
}

#[test]
fn a_node_that_granted_another_permit_is_sent_its_release() {
    let scene = Scene::new();
    let mut strayed = 0;
    for _ in 0..20 {
        // The third node has a holder more than the others.
        scene.hold_permit_elsewhere(&[2], 1);
        let lease = scene.acquired(&one_of(3));
        let permit = lease.permit().unwrap();
        assert_eq!(scene.permits_at(0), [permit]);
        let there: Vec<_> = scene
            .permits_at(2)
            .into_iter()
            .filter(|held| *held != 1)
            .collect();
        assert!(
            there.is_empty() || there == [permit],
            "{there:?} beside {permit}"
        );
        strayed += usize::from(lease.votes() == 2 && permit == 1);
        drop(lease);
        scene.nodes[2].delete(&key(1));
        assert!(scene.no_permit_is_held());
    }
    assert!(
        strayed > 0,
        "the third node has to grant another permit at times"
    );
}

#[test]
fn a_node_that_answers_late_keeps_nothing_but_what_was_won() {
    let scene = Scene::new();
    scene.nodes[2].hang();
    let leases: Vec<_> = (0..3).map(|_| scene.acquired(&one_of(4))).collect();
    scene.nodes[2].restore();
    let mut won: Vec<_> = leases.iter().map(|lease| lease.permit().unwrap()).collect();
    won.sort_unstable();
    assert_eq!(scene.permits_at(2), won);
    assert!(leases.iter().all(|lease| lease.votes() == 3));
    drop(leases);
    assert!(scene.no_permit_is_held());
}

#[test]
fn a_caller_who_gives_up_at_any_point_leaves_no_permit() {
    let scene = Scene::new();
    for hanging in [1, 2, 3] {
        for node in &scene.nodes[..hanging] {
            node.hang();
        }
        let mut acquiring = scene.acquire(&waiting_for_one_of(4));
        if hanging > 1 {
            assert!(is_waiting(&mut acquiring));
        }
        drop(acquiring);
        scene.nodes.iter().for_each(MemoryNode::restore);
        assert!(scene.no_permit_is_held());
    }
    // While it pauses, and while it stands in line behind a caller that pauses.
    let held: Vec<_> = (0..2).map(|_| scene.acquired(&one_of(2))).collect();
    let mut first = scene.acquire(&waiting_for_one_of(2));
    let mut second = scene.acquire(&waiting_for_one_of(2));
    assert!(is_waiting(&mut first) && is_waiting(&mut second));
    drop(first);
    drop(second);
    drop(held);
    assert!(scene.no_permit_is_held());
}

#[test]
fn a_plain_lock_counts_as_one_holder() {
    let scene = Scene::new();
    let plain = scene.acquired(&once());
    let permit = scene.acquired(&one_of(2));
    assert_eq!(permit.permit(), Some(1));
    refused(&mut scene.acquire(&one_of(2)));
    drop(plain);
    let other = scene.acquired(&one_of(2));
    assert_eq!(other.permit(), Some(0));
    refused(&mut scene.acquire(&once()));
}

#[test]
fn with_one_node_dead_and_another_one_empty_the_second_attempt_asks_for_what_both_call_free() {
    let scene = Scene::new();
    scene.nodes[0].cut();
    for permit in (0..16).filter(|permit| *permit != 11) {
        scene.hold_permit_elsewhere(&[1], permit);
    }
    let request = waiting_for_one_of(16);
    let mut second_attempts = 0;
    for _ in 0..20 {
        let mut acquiring = scene.acquire(&request);
        // A pause for each attempt that was refused.
        let lease = loop {
            match poll(&mut acquiring) {
                Poll::Ready(lease) => break lease.unwrap(),
                Poll::Pending => scene.clock.advance(SECOND / 5),
            }
        };
        assert_eq!(lease.permit(), Some(11));
        assert!(lease.attempts() <= 2, "{} attempts", lease.attempts());
        second_attempts += usize::from(lease.attempts() == 2);
    }
    assert!(
        second_attempts > 10,
        "nodes that differ rarely agree at once"
    );
}

#[test]
fn the_turn_is_passed_on_once_an_attempt_has_won() {
    let scene = Scene::new();
    scene.nodes[0].hang();
    scene.nodes[1].hang();
    let mut first = scene.acquire(&waiting_for_one_of(2));
    let mut second = scene.acquire(&waiting_for_one_of(2));
    assert!(is_waiting(&mut first) && is_waiting(&mut second));
    scene.nodes.iter().for_each(MemoryNode::restore);
    let first = acquired(&mut first);
    let second = acquired(&mut second);
    assert_ne!(first.permit(), second.permit());
    assert_eq!(scene.client.waiting(), 0);
}

#[test]
fn a_permit_that_is_released_here_goes_to_the_first_in_line_without_a_pause() {
    let scene = Scene::new();
    let mut held: Vec<_> = (0..8).map(|_| scene.acquired(&one_of(8))).collect();
    let mut next = scene.acquire(&waiting_for_one_of(8));
    assert!(is_waiting(&mut next));
    let released_here = held.remove(3);
    let permit = released_here.permit();
    drop(released_here);
    let next = acquired(&mut next);
    assert_eq!(next.permit(), permit);
}

#[test]
fn callers_of_a_process_ask_one_after_another() {
    let scene = Scene::new();
    let asked = Arc::new(Mutex::new(0));
    let set: NodeSet = scene
        .nodes
        .iter()
        .map(|node| {
            let (node, asked) = (node.clone(), Arc::clone(&asked));
            Arc::new(Counts { node, asked }) as Arc<dyn Node>
        })
        .collect();
    let held: Vec<_> = (0..2).map(|_| scene.acquired(&one_of(2))).collect();
    let request = waiting_for_one_of(2);
    let mut waiting: Vec<_> = (0..50).map(|_| scene.acquire_on(&set, &request)).collect();
    assert!(waiting.iter_mut().all(is_waiting));
    assert_eq!(*asked.lock(), 3, "one acquisition on each node");
    drop(held);
}

/// Counts acquisitions.
struct Counts {
    node: MemoryNode,
    asked: Arc<Mutex<usize>>,
}

impl Node for Counts {
    fn name(&self) -> &str {
        self.node.name()
    }

    fn submit(&self, call: Arc<Call>, reply: Reply) {
        if call.effect() == Effect::Takes {
            *self.asked.lock() += 1;
        }
        self.node.submit(call, reply);
    }

    fn drained(&self) -> bool {
        self.node.drained()
    }

    fn status(&self) -> NodeStatus {
        self.node.status()
    }
}

#[test]
fn one_permit_is_a_plain_lock_and_stands_in_its_line() {
    let scene = Scene::new();
    let lease = scene.acquired(&one_of(1));
    assert_eq!(lease.permit(), Some(0));
    assert!(scene.nodes.iter().all(|node| node.keys() == [b"r"]));
    let mut next = scene.acquire(&waiting());
    assert!(is_waiting(&mut next));
    assert_eq!(released(lease), Released::HandedOver);
    let next = acquired(&mut next);
    assert_eq!((next.permit(), next.kind()), (None, Kind::Exclusive));
}

#[test]
fn a_lease_on_a_permit_is_extended_and_its_lost_keys_are_put_back() {
    let scene = Scene::new();
    let lease = scene.acquired(&one_of(4));
    let held = scene.permits_at(0);
    scene.nodes[1].delete(&key(held[0]));
    scene.clock.advance(SECOND * 9);
    assert!(poll(&mut Box::pin(lease.extend(TTL))).is_ready());
    scene.clock.advance(SECOND * 9);
    for node in 0..3 {
        assert_eq!(scene.permits_at(node), held, "node {node}");
    }
    drop(lease);
    assert!(scene.no_permit_is_held());
}

#[test]
fn a_caller_that_no_node_tells_of_permits_looks_too() {
    let scene = Scene::new();
    let (_nodes, set, attempts) = untold(&scene);
    let request = patient().kind(Kind::Permits(2));
    let holders = [0, 1].map(|_| acquired(&mut scene.acquire_on(&set, &request)));
    let other = Client::new(scene.client.shared.context.environment.clone());
    let (nodes, asks) = (Arc::clone(&set), request.clone());
    let mut waits: Acquiring = Box::pin(async move { other.acquire(&nodes, &asks).await });
    waits_for(SECOND * 4, &scene, &mut waits);
    // Those of the holders, the first one, one within 1 s, and one within 2 s of it.
    assert!((5..=6).contains(&made(&attempts)), "{}", made(&attempts));
    drop(holders);
    drop(acquired_within(SECOND * 5, &scene, &mut waits));
}
