//! Tests of clocks that step.

use std::task::Wake as _;

use super::*;
use crate::waiting::tests::Woken;

#[test]
fn a_step_ahead_is_a_quarantine_and_an_epoch() {
    let mut a = Bench::voting();
    a.pass(ms(10_000));
    a.time += ms(520);
    let verdict = a.check();
    assert!(verdict.is_new_epoch && verdict.stepped_ms == Some(520));
    a.held();
    a.assert_quarantine(STEPPED);
    a.is_held_for(QUARANTINE);
}

/// Keys then live longer, so every holder keeps its lock.
#[test]
fn a_node_whose_clock_is_set_back_votes_on() {
    let mut a = Bench::voting();
    let mut later = Bench::alone(RestartCheck::Standard);
    a.time -= ms(86_400_000);
    let verdict = a.check();
    assert_eq!(verdict.stepped_ms, Some(-86_400_000));
    assert!(verdict.action == Action::Vote && !verdict.is_new_epoch);
    later.see(&a);
    assert_eq!(later.settle(), Action::Vote);
}

#[test]
fn a_quarantine_from_before_a_clock_was_set_back_begins_again() {
    let mut a = Bench::voting();
    a.restart("run2", None);
    a.held();
    let mut later = Bench::alone(RestartCheck::Standard);
    later.see(&a);
    later.time -= ms(86_000_000);
    later.held();
    later.assert_quarantine(INVALID);
    later.is_held_for(QUARANTINE);
}

#[test]
fn a_clock_that_jumps_ahead_ends_no_quarantine_that_was_seen() {
    let mut a = Bench::voting();
    a.marker = Some(marker("run1", a.time + ms(5_000)));
    a.check();
    a.time += ms(6_000);
    a.is_held_for(QUARANTINE);
}

#[test]
fn what_moves_slowly_or_may_be_the_network_is_no_step() {
    let mut a = Bench::voting();
    for _ in 0..100 {
        a.pass(ms(10_000));
        a.time += ms(100);
        assert_eq!(a.check().action, Action::Vote);
    }
    a.pass(ms(30 * 60_000));
    a.time += ms(540);
    assert_eq!(a.check().action, Action::Vote, "300 ppm of half an hour");
    a.time += ms(1_400);
    a.round_trip = ms(2_000);
    assert_eq!(a.check().action, Action::Vote, "half a round trip");
    // A slow answer hides no step from the next answer.
    a.round_trip = Duration::ZERO;
    assert!(a.check().stepped_ms.is_some());
}

#[test]
fn a_step_is_written_until_that_counts_or_another_client_judged() {
    let mut a = Bench::voting();
    a.time += ms(700);
    // The write came too late, or the connection broke.
    for _ in 0..3 {
        assert!(matches!(a.check().action, Action::Write(_)));
        a.pass(ms(5_000));
    }
    a.marker = Some(marker("run1", a.time.saturating_sub(ms(1_000))));
    let found = a.marker.clone();
    a.is_held_for(QUARANTINE);
    assert_eq!(a.marker, found, "this client waits by itself");
}

#[test]
fn a_host_that_stood_still_closes_no_node_to_anybody() {
    let mut nodes = three_voting();
    let markers = nodes.each_ref().map(|node| node.marker.clone());
    nodes[2].node_check.unreachable();
    // This host missed 3 s. The last node is not connected at first.
    for node in &mut nodes {
        node.time += ms(3_000);
    }
    let [a, b, c] = &mut nodes;
    for node in [&mut *a, b] {
        assert!(node.check().is_new_epoch, "a lease would be too old");
    }
    assert_eq!([a.settle(), b.settle()], [Action::Vote, Action::Vote]);
    c.check();
    pass(&mut nodes, ms(250));
    assert_eq!(settle_all(&mut nodes), [const { Action::Vote }; 3]);
    assert_eq!(nodes.map(|node| node.marker), markers);
}

#[test]
fn nodes_that_step_apart_are_told_from_a_host_that_stood_still() {
    for steps in [[3_000, 0, 0], [3_000, 3_000, 0], [1_000, 3_000, 9_000]] {
        let mut nodes = three_voting();
        for (node, by) in nodes.iter_mut().zip(steps) {
            node.time += ms(by);
        }
        for node in &mut nodes {
            node.check();
        }
        pass(&mut nodes, ms(250));
        for node in nodes.iter_mut().rev() {
            node.check();
        }
        pass(&mut nodes, ms(250));
        for (node, by) in nodes.iter_mut().zip(steps) {
            if by == 0 {
                assert_eq!(node.settle(), Action::Vote);
            } else {
                node.held();
                node.assert_quarantine(STEPPED);
            }
        }
    }
}

#[test]
fn a_step_is_the_nodes_once_all_others_in_reach_have_answered() {
    let mut nodes = three_voting();
    nodes[0].time += ms(3_000);
    let before = nodes[0].marker.clone();
    nodes[0].held();
    nodes[1].node_check.unreachable();
    pass(&mut nodes, ms(1));
    nodes[2].round_trip = ms(2_000);
    nodes[2].check();
    nodes[0].held();
    assert_eq!(nodes[0].marker, before, "a slow answer shows no step");
    pass(&mut nodes, ms(30_000));
    nodes[0].held();
    assert_eq!(nodes[0].marker, before, "the other one was not asked since");
    nodes[2].check();
    nodes[0].held();
    nodes[0].assert_quarantine(STEPPED);
}

#[test]
fn a_step_has_the_other_nodes_asked_at_once() {
    let [mut a, b, _] = three_voting();
    let asked = [(); 2].map(|()| Arc::<Woken>::default());
    for (node, asked) in [&a, &b].into_iter().zip(&asked) {
        let asked = Arc::clone(asked);
        node.node_check
            .on_doubt(Arc::new(move || asked.wake_by_ref()));
    }
    a.time += ms(3_000);
    a.check();
    assert_eq!(asked.map(|it| it.take()), [0, 1]);
}
