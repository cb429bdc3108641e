//! Tests of nodes with markers of another wire format, and of the nodes next to them.

use super::*;

/// A marker of another wire format.
const THEIRS: &[u8] = b"2 of another version";

/// Writes a marker of the other format on a node, whose check then refuses it.
fn refuse(node: &mut Bench) {
    node.marker = Some(THEIRS.to_vec());
    let action = node.check().action;
    assert!(matches!(action, Action::Refuse(_)), "{action:?}");
    node.node_check.unreachable();
}

/// Returns three nodes. The first two have markers of the other format, and are refused.
fn next_to_refused(restart_check: RestartCheck) -> [Bench; 3] {
    let [mut a, mut b, c] = three(restart_check);
    refuse(&mut a);
    refuse(&mut b);
    [a, b, c]
}

fn assert_settled(action: &Action) {
    let is_settled = matches!(
        action,
        Action::Hold {
            is_settled: true,
            ..
        }
    );
    assert!(is_settled, "{action:?}");
}

#[test]
fn a_marker_of_another_wire_format_is_refused_and_stays() {
    for [found, number] in [["0 run1 0 9 new", "0"], ["2 no one knows", "2"]] {
        for mut a in [Bench::voting(), Bench::alone(RestartCheck::Standard)] {
            let has_voted = a.marker.is_some();
            a.marker = Some(found.into());
            // A step of the clock in the same answer changes nothing.
            a.time += ms(700);
            for is_new_epoch in [has_voted, false] {
                let verdict = a.check();
                assert_eq!(verdict.is_new_epoch, is_new_epoch);
                let Action::Refuse(reason) = verdict.action else {
                    panic!("{verdict:?}");
                };
                let formats = format!("wire format {number}, and this process has wire format 1");
                assert!(reason.contains(&formats) && reason.contains("`redlock:marker`"));
                a.node_check.unreachable();
            }
            // Clients of the other format may have locks that the node forgets here.
            a.marker = None;
            a.held();
            assert_eq!(a.written().1, QUARANTINE);
            a.marker = Some(IDLE.into());
            assert_eq!(a.settle(), Action::Vote);
        }
    }
}

#[test]
fn a_node_next_to_their_markers_is_left_alone() {
    let found = [None, Some(&b"garbage"[..]), Some(IDLE.as_bytes())];
    for restart_check in [RestartCheck::Standard, RestartCheck::Strict] {
        for found in found.map(|it| it.map(<[u8]>::to_vec)) {
            let [mut a, mut b, mut c] = next_to_refused(restart_check);
            c.marker.clone_from(&found);
            assert_settled(&c.settle());
            // An untried node may also have a marker of the other format.
            let mut first = three(restart_check);
            first[2].marker.clone_from(&found);
            first[2].held();
            assert_eq!([&c.marker, &first[2].marker], [&found; 2]);
            for node in [&mut a, &mut b, &mut c] {
                node.marker = Some(IDLE.into());
                node.check();
            }
            for node in [&mut a, &mut b, &mut c] {
                assert_eq!(node.settle(), Action::Vote);
            }
        }
    }
}

#[test]
fn an_opening_that_no_majority_can_end_is_settled() {
    let [_, _, mut c] = next_to_refused(RestartCheck::Standard);
    let [mut a, mut b, mut alone] = three(RestartCheck::Standard);
    a.node_check.unreachable();
    b.node_check.unreachable();
    let opening = Marker {
        cause: OPENING.into(),
        ..Marker::parse(&marker("run-c", c.time)).unwrap()
    };
    for node in [&mut c, &mut alone] {
        node.marker = Some(opening.to_bytes());
        node.pass(QUARANTINE);
        assert_settled(&node.settle());
        assert_eq!(node.read().cause, OPENING);
    }
}

#[test]
fn a_set_that_is_opened_after_their_marker_is_held() {
    for cause in [OPENING, NEW] {
        let mut a = Bench::alone(RestartCheck::Standard);
        refuse(&mut a);
        a.marker = Some(opened(&a, cause));
        a.is_held_for(QUARANTINE);
    }
}

#[test]
fn a_new_set_next_to_their_markers_is_held_while_young() {
    let [mut a, _, mut c] = next_to_refused(RestartCheck::Standard);
    c.marker = Some(opened(&c, NEW));
    c.pass(ms(700));
    c.is_held_for(ms(10_000));
    refuse(&mut a);
    c.votes(false);
}

/// Returns the marker of a client that opens the set now.
fn opened(node: &Bench, cause: &'static str) -> Vec<u8> {
    let marker = Marker {
        run_id: node.run_id.unwrap().into(),
        since: node.time,
        max_ttl: MAX_TTL,
        cause: cause.into(),
    };
    marker.to_bytes()
}
