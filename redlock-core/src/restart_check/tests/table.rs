//! The verdict for each state in which a check may find a node.

use super::*;

#[test]
fn without_a_restart_check_nothing_is_written_and_everything_votes() {
    let peers = peers(RestartCheck::Off, 1);
    let mut a = Bench::new(&peers, "a", "run1");
    for (run_id, found, jump) in [
        ("run1", None, 0),
        ("run2", marker("run1", ms(u64::MAX)), 0),
        ("run2", None, 60_000),
    ] {
        (a.run_id, a.marker) = (Some(run_id), found);
        a.time += ms(jump);
        let verdict = a.check();
        assert_eq!(
            (verdict.action, verdict.is_new_epoch),
            (Action::Vote, false)
        );
        assert_eq!(verdict.stepped_ms.is_some(), jump > 0, "a step is told");
    }
}

#[test]
fn a_restarted_node_waits_for_the_longest_ttl_and_begins_an_epoch() {
    for found in [marker("run1", ms(3)), Some(b"garbage".to_vec()), None] {
        let mut a = Bench::voting();
        a.node_check.unreachable();
        (a.run_id, a.marker) = (Some("run2"), found);
        let verdict = a.check();
        assert!(verdict.is_new_epoch && matches!(verdict.action, Action::Write { .. }));
        assert!(matches!(a.settle(), Action::Hold { .. }));
        assert_eq!(a.read().run_id, "run2");
        assert_eq!(a.left(), QUARANTINE);
        a.pass(QUARANTINE.saturating_sub(ms(1)));
        assert!(matches!(a.settle(), Action::Hold { .. }));
        a.pass(ms(1));
        let verdict = a.check();
        assert_eq!(verdict.action, Action::Vote);
        assert!(!verdict.is_new_epoch, "one is enough");
    }
}

#[test]
fn a_reconnection_to_the_same_process_changes_nothing() {
    let mut a = Bench::voting();
    a.node_check.unreachable();
    a.pass(ms(60_000));
    let verdict = a.check();
    assert_eq!(
        (verdict.action, verdict.is_new_epoch),
        (Action::Vote, false)
    );
}

#[test]
fn a_quarantine_that_came_and_went_unseen_is_an_epoch() {
    let mut a = Bench::voting();
    a.node_check.unreachable();
    a.pass(ms(60_000));
    a.marker = marker("run1", a.time.saturating_sub(ms(1)));
    let verdict = a.check();
    assert_eq!((verdict.action, verdict.is_new_epoch), (Action::Vote, true));
}

#[test]
fn a_quarantine_by_another_client_is_followed() {
    let mut a = Bench::voting();
    a.marker = marker("run1", a.time + ms(700));
    let verdict = a.check();
    assert!(verdict.is_new_epoch, "that client knows something");
    assert!(matches!(verdict.action, Action::Hold { look_again, .. } if look_again == ms(700)));
    a.pass(ms(700));
    assert_eq!(a.settle(), Action::Vote);
}

#[test]
fn trusting_the_aof_a_restart_is_none_but_a_missing_marker_is() {
    let peers = peers(RestartCheck::Standard, 1);
    let mut a = Bench::trusting(&peers, "a", "run1");
    assert_eq!(a.settle(), Action::Vote);
    let until = a.read().until();
    a.run_id = Some("run2");
    let verdict = a.check();
    assert!(!verdict.is_new_epoch);
    assert_eq!(a.settle(), Action::Vote);
    assert_eq!(
        (a.read().run_id.as_str(), a.read().until()),
        ("run2", until)
    );

    (a.run_id, a.marker) = (Some("run3"), None);
    assert!(a.check().is_new_epoch);
    assert!(matches!(a.settle(), Action::Hold { .. }));
    let until = a.read().until();
    // A quarantine outlives a restart that kept it.
    a.run_id = Some("run4");
    assert!(matches!(a.settle(), Action::Hold { .. }));
    assert_eq!(a.read().until(), until);
}

#[test]
fn a_clock_that_jumps_ahead_does_not_end_a_quarantine_that_was_seen() {
    let mut a = Bench::voting();
    a.marker = marker("run1", a.time + ms(5_000));
    a.check();
    a.time += ms(6_000);
    for _ in 0..3 {
        assert!(matches!(a.settle(), Action::Hold { .. }));
    }
    a.pass(QUARANTINE.saturating_sub(ms(1)));
    assert!(matches!(a.settle(), Action::Hold { .. }));
    a.pass(ms(1));
    assert_eq!(a.settle(), Action::Vote);
}

#[test]
fn a_wild_marker_closes_a_node_for_no_longer_than_a_quarantine() {
    let peers = peers(RestartCheck::Standard, 1);
    let mut a = Bench::new(&peers, "a", "run1");
    let now = a.time.as_millis();
    a.marker = Some(format!("1 run1 {now} restarted 10000 {}", u64::MAX).into_bytes());
    assert!(matches!(a.settle(), Action::Hold { .. }));
    assert_eq!(a.cause(), Cause::Garbled);
    a.pass(QUARANTINE);
    assert_eq!(a.settle(), Action::Vote);
}

#[test]
fn two_connected_nodes_of_one_process_are_one_too_many() {
    for restart_check in [RestartCheck::Standard, RestartCheck::Off] {
        let peers = peers(restart_check, 2);
        let [mut a, mut b] = ["a", "b"].map(|name| Bench::new(&peers, name, "same"));
        a.check();
        let action = b.check().action;
        assert!(matches!(action, Action::Refuse { .. }));
        assert!(
            reason(&action).starts_with("`b` is the same server as `a`"),
            "{action:?}"
        );
        // Only of those that are connected: a server may move from one address to the other.
        a.node_check.unreachable();
        assert!(!matches!(b.check().action, Action::Refuse { .. }));
    }
}

#[test]
fn without_a_run_id_any_marker_is_ours() {
    let peers = peers(RestartCheck::Standard, 1);
    let mut a = Bench::new(&peers, "a", "run1");
    a.run_id = None;
    assert_eq!(a.settle(), Action::Vote);
    assert_eq!(a.read().run_id, Marker::UNKNOWN);
    a.marker = marker("any", a.time.saturating_sub(ms(5)));
    assert_eq!(a.settle(), Action::Vote);
    // Two servers whose run ids are unknown may be different ones.
    let mut b = Bench::new(&peers, "b", "run1");
    b.run_id = None;
    assert!(!matches!(b.check().action, Action::Refuse { .. }));
    // A client that learns the run id does not accept a marker without one.
    a.marker = marker(Marker::UNKNOWN, a.time.saturating_sub(ms(5)));
    a.run_id = Some("run1");
    assert!(matches!(a.settle(), Action::Hold { .. }));
}

/// As a promoted replica is, or a server that an address means from now on.
#[test]
fn a_server_that_was_up_beside_the_one_before_it_is_told_from_one_that_restarted() {
    for is_blank in [false, true] {
        let restarted = if is_blank {
            Cause::RestartedEmpty
        } else {
            Cause::Restarted
        };
        for (up_for, cause) in [(500_u64, restarted), (60_000, Cause::Replaced)] {
            let mut a = Bench::voting();
            a.pass(ms(30_000));
            assert_eq!(a.check().action, Action::Vote);
            a.pass(ms(1_000));
            a.run_id = Some("run2");
            a.started = Some(a.time.saturating_sub(ms(up_for)));
            if is_blank {
                a.marker = None;
            }
            assert!(matches!(a.settle(), Action::Hold { .. }));
            assert_eq!(a.cause(), cause, "{is_blank} {up_for}");
        }
    }
    // To a client that never saw the one before, its marker tells when that was up.
    let mut before = Bench::voting();
    before.pass(ms(1_000));
    let peers = peers(RestartCheck::Standard, 1);
    let mut later = Bench::new(&peers, "a", "run2");
    let since = before.time;
    later.see(&before);
    later.run_id = Some("run2");
    later.started = Some(since.saturating_sub(ms(60_000)));
    assert!(matches!(later.settle(), Action::Hold { .. }));
    assert_eq!(later.cause(), Cause::Replaced);
}
