//! Clocks that step.

use super::*;

#[test]
fn a_step_in_either_direction_is_a_quarantine_and_an_epoch() {
    for (ahead, by, hint) in [(true, 700, "700 ms ahead"), (false, 5_000, "5000 ms back")] {
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
fn what_moves_slowly_or_may_be_the_network_is_no_step() {
    let mut a = Bench::voting();
    for _ in 0..100 {
        a.pass(ms(10_000));
        a.time += ms(100);
        assert_eq!(a.check().action, Action::Vote);
    }
    a.round_trip = ms(2_000);
    a.time += ms(1_400);
    assert_eq!(
        a.check().action,
        Action::Vote,
        "half a second and half a round trip"
    );
}

#[test]
fn a_slow_answer_does_not_hide_a_step_from_the_next_one() {
    let mut a = Bench::voting();
    a.time += ms(1_400);
    a.round_trip = ms(2_000);
    assert_eq!(a.check().action, Action::Vote);
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
    a.sentry.unreachable();
    a.pass(ms(3_600_000));
    a.time += ms(700);
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
    a.sentry.unreachable();
    (a.run_id, a.marker) = (Some("run2"), None);
    a.time -= ms(60_000);
    assert!(a.check().is_new_epoch);
    assert!(matches!(a.settle(), Action::Hold { .. }));
    assert_eq!(a.left(), QUARANTINE);
}
