//! Clocks that step.

use super::*;

#[test]
fn a_step_in_either_direction_is_a_quarantine_and_an_epoch() {
    for (ahead, by, hint) in [(true, 520, "520 ms ahead"), (false, 5_000, "5000 ms back")] {
        let mut a = Bench::voting();
        a.pass(ms(10_000));
        if ahead {
            a.time += ms(by);
        } else {
            a.time -= ms(by);
        }
        let verdict = a.check();
        assert!(verdict.is_new_epoch && verdict.stepped_ms.is_some());
        assert!(reason(&verdict.action).contains(hint), "{verdict:?}");
        assert!(matches!(a.settle(), Action::Hold { .. }));
        assert_eq!(a.left(), QUARANTINE);
        a.pass(QUARANTINE);
        assert_eq!(a.settle(), Action::Vote);
    }
}

#[test]
fn the_clock_of_a_server_that_took_the_nodes_place_did_not_step() {
    let mut a = Bench::voting();
    a.pass(ms(10_000));
    a.run_id = Some("run2");
    a.time += ms(5_000);
    let verdict = a.check();
    assert_eq!(verdict.stepped_ms, None);
    assert!(reason(&verdict.action).contains("or a new server has a copy"));
    assert!(matches!(a.settle(), Action::Hold { .. }));
    a.pass(ms(5_000));
    a.time += ms(700);
    assert!(a.check().stepped_ms.is_some(), "its own is watched");
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
    a.round_trip = ms(2_000);
    a.time += ms(990);
    assert_eq!(a.check().action, Action::Vote, "half a round trip");
}

#[test]
fn a_slow_answer_does_not_hide_a_step_from_the_next_one() {
    let mut a = Bench::voting();
    a.time += ms(1_400);
    a.round_trip = ms(2_000);
    assert_eq!(a.check().stepped_ms, None);
    a.round_trip = Duration::ZERO;
    assert!(a.check().stepped_ms.is_some());
}

#[test]
fn a_step_is_written_down_until_it_is_or_somebody_else_has_judged() {
    let mut a = Bench::voting();
    a.time += ms(700);
    let first = a.check().action;
    assert!(matches!(first, Action::Write { .. }));
    // The write came too late, or the connection broke.
    a.pass(ms(5_000));
    assert!(matches!(a.check().action, Action::Write { .. }));
    a.marker = marker("run1", a.time + ms(300));
    let Action::Hold { look_again, .. } = a.settle() else {
        panic!("it holds by its own clock");
    };
    assert_eq!(look_again, ms(5_000), "of what is left of the first one");
}

#[test]
fn a_step_that_others_have_seen_to_is_not_written_again() {
    let mut a = Bench::voting();
    a.node_check.unreachable();
    a.pass(ms(3_600_000));
    a.time += ms(7_000);
    a.marker = marker("run1", a.time.saturating_sub(ms(1_800_000)));
    let found = a.marker.clone();
    assert!(
        matches!(a.settle(), Action::Hold { .. }),
        "this client waits by itself"
    );
    assert_eq!(a.marker, found);
    a.pass(QUARANTINE);
    assert_eq!(a.settle(), Action::Vote);
}

#[test]
fn a_host_that_comes_back_empty_and_with_another_time_is_quarantined() {
    let mut a = Bench::voting();
    a.node_check.unreachable();
    (a.run_id, a.marker) = (Some("run2"), None);
    a.time -= ms(60_000);
    assert!(a.check().is_new_epoch);
    assert!(matches!(a.settle(), Action::Hold { .. }));
    assert_eq!(a.left(), QUARANTINE);
}

#[test]
fn a_host_that_stood_still_closes_no_node_to_anybody() {
    let mut nodes = three();
    let markers: Vec<_> = nodes.iter().map(|node| node.marker.clone()).collect();
    // The time that this host missed.
    for node in &mut nodes {
        node.time += ms(3_000);
    }
    for (index, node) in nodes.iter_mut().enumerate() {
        let verdict = node.check();
        assert!(verdict.is_new_epoch, "no lease may rest on what it missed");
        let is_held = matches!(verdict.action, Action::Hold { .. });
        assert_eq!(is_held, index < 2, "{verdict:?}");
    }
    pass(&mut nodes, ms(250));
    for (node, marker) in nodes.iter_mut().zip(markers) {
        assert_eq!(node.settle(), Action::Vote);
        assert_eq!(node.marker, marker);
    }
}

#[test]
fn a_host_that_stood_still_is_told_so_by_the_nodes_that_it_reaches() {
    let mut nodes = three();
    nodes[2].node_check.unreachable();
    for node in &mut nodes {
        node.time += ms(3_000);
    }
    assert!(matches!(nodes[0].check().action, Action::Hold { .. }));
    assert_eq!(nodes[1].settle(), Action::Vote);
    assert_eq!(nodes[0].settle(), Action::Vote);
}

#[test]
fn one_or_two_nodes_that_step_are_told_from_a_host_that_stood_still() {
    for stepped in 1..=2 {
        let mut nodes = three();
        for node in nodes.iter_mut().take(stepped) {
            node.time += ms(3_000);
        }
        for node in nodes.iter_mut().take(stepped) {
            assert!(matches!(node.check().action, Action::Hold { .. }));
        }
        pass(&mut nodes, ms(250));
        for node in nodes.iter_mut().skip(stepped) {
            assert_eq!(node.settle(), Action::Vote);
        }
        for node in nodes.iter_mut().take(stepped) {
            assert!(matches!(node.settle(), Action::Hold { .. }));
            assert_eq!(node.left(), QUARANTINE);
        }
    }
}

#[test]
fn nodes_that_step_by_different_times_are_not_this_host() {
    let mut nodes = three();
    for (node, by) in nodes.iter_mut().zip([1_000, 3_000, 9_000]) {
        node.time += ms(by);
    }
    for node in &mut nodes {
        node.check();
    }
    pass(&mut nodes, ms(250));
    for node in &mut nodes {
        assert!(matches!(node.settle(), Action::Hold { .. }));
        assert_eq!(node.left(), QUARANTINE);
    }
}

#[test]
fn whose_clock_it_was_does_not_stay_undecided_for_ever() {
    let mut nodes = three();
    nodes[0].time += ms(3_000);
    assert!(matches!(nodes[0].check().action, Action::Hold { .. }));
    // The others are connected and never answer.
    pass(&mut nodes, ms(30_000));
    assert!(matches!(nodes[0].settle(), Action::Hold { .. }));
    assert_eq!(nodes[0].left(), QUARANTINE);
}

/// The second quarantine would be written as the first one is, to the millisecond.
#[test]
fn a_clock_that_steps_back_twice_to_the_same_time_is_written_once() {
    let mut a = Bench::voting();
    a.pass(ms(900));
    a.time -= ms(600);
    assert!(matches!(a.settle(), Action::Hold { .. }));
    let marker = a.marker.clone();
    a.pass(ms(600));
    a.time -= ms(600);
    assert!(matches!(a.settle(), Action::Hold { .. }));
    assert_eq!(a.marker, marker);
}
