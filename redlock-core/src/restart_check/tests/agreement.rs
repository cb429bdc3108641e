//! Clients of different settings on one node.

use super::*;

/// A client with such settings.
fn client(restart_check: RestartCheck, max_ttl: Duration, trust_aof: bool) -> Bench {
    let peers = Arc::new(CheckedSet::new(restart_check, max_ttl, 1));
    if trust_aof {
        Bench::trusting(&peers, "a", "run1")
    } else {
        Bench::new(&peers, "a", "run1")
    }
}

fn standard() -> Bench {
    client(RestartCheck::Standard, MAX_TTL, false)
}

/// What `bench` finds, after so long, on the node that `other` left.
fn after(bench: &mut Bench, other: &Bench, span: Duration) {
    bench.see(other);
    bench.pass(span);
}

#[test]
fn what_a_standard_client_opened_waits_for_a_strict_one() {
    let (mut loose, mut strict) = (standard(), client(RestartCheck::Strict, MAX_TTL, false));
    assert_eq!(loose.settle(), Action::Vote);
    after(&mut strict, &loose, QUARANTINE.saturating_sub(ms(1)));
    let action = strict.settle();
    assert!(
        reason(&action).contains("the restart check is strict"),
        "{action:?}"
    );
    assert_eq!(strict.left(), QUARANTINE);
    // It counts for everybody, who is told so.
    after(&mut loose, &strict, Duration::ZERO);
    let verdict = loose.check();
    assert!(verdict.is_new_epoch && matches!(verdict.action, Action::Hold { .. }));
    assert!(
        verdict
            .disagreement
            .unwrap()
            .contains("restart_check = \"strict\"")
    );
    assert_eq!(strict.check().disagreement, None);
    // The same holds for blank nodes.
    let peers = peers(RestartCheck::Standard, 2);
    let [mut a, mut b] = ["a", "b"].map(|name| Bench::new(&peers, name, "run2"));
    after(&mut a, &strict, Duration::ZERO);
    a.check();
    let action = b.settle();
    assert!(
        reason(&action).contains("the restart check is strict"),
        "{action:?}"
    );
}

#[test]
fn what_has_been_open_for_long_is_open_to_a_strict_client() {
    let (mut loose, mut strict) = (standard(), client(RestartCheck::Strict, MAX_TTL, false));
    assert_eq!(loose.settle(), Action::Vote);
    after(&mut strict, &loose, QUARANTINE);
    let found = strict.read();
    assert_eq!(strict.say().action, Action::Vote);
    assert_eq!(
        strict.read(),
        found,
        "it says something, and changes nothing"
    );
}

#[test]
fn a_node_that_one_client_trusts_waits_for_one_that_does_not() {
    let mut trusting = client(RestartCheck::Standard, MAX_TTL, true);
    assert_eq!(trusting.settle(), Action::Vote);
    trusting.run_id = Some("run2");
    assert_eq!(trusting.settle(), Action::Vote);
    assert_eq!(trusting.cause(), Some(Cause::Kept));

    let mut careful = standard();
    after(&mut careful, &trusting, ms(1_000));
    assert!(matches!(careful.settle(), Action::Hold { .. }));
    assert_eq!(careful.left(), QUARANTINE);
    after(&mut trusting, &careful, ms(1_000));
    let verdict = trusting.check();
    assert!(matches!(verdict.action, Action::Hold { .. }), "{verdict:?}");
    assert!(verdict.disagreement.unwrap().contains("`trust_aof`"));
    trusting.pass(QUARANTINE);
    assert_eq!(trusting.settle(), Action::Vote);

    // The client knows the strict settings now, although no stricter client is connected.
    trusting.run_id = Some("run3");
    assert!(matches!(trusting.settle(), Action::Hold { .. }));
    assert_eq!(trusting.left(), QUARANTINE);
    // Until the careful one is gone for longer than its locks can live.
    trusting.pass(ms(70_001));
    assert_eq!(trusting.settle(), Action::Vote);
    trusting.run_id = Some("run4");
    assert_eq!(trusting.settle(), Action::Vote);
}

/// The second version was not on the disk yet, perhaps.
#[test]
fn what_a_client_said_counts_on_where_the_node_has_lost_its_words() {
    let mut trusting = client(RestartCheck::Standard, MAX_TTL, true);
    trusting.settle();
    let mut careful = standard();
    after(&mut careful, &trusting, Duration::ZERO);
    assert!(careful.say().settings_write.is_some());
    after(&mut trusting, &careful, Duration::ZERO);
    trusting.check();
    trusting.marker = Some(trusting.read().to_bytes());
    trusting.run_id = Some("run2");
    assert!(matches!(trusting.settle(), Action::Hold { .. }));
    assert_eq!(trusting.left(), QUARANTINE);
}

#[test]
fn what_was_trusted_long_ago_is_no_news_to_a_careful_client() {
    let mut trusting = client(RestartCheck::Standard, MAX_TTL, true);
    trusting.settle();
    trusting.run_id = Some("run2");
    trusting.settle();
    let mut careful = standard();
    after(&mut careful, &trusting, QUARANTINE);
    assert_eq!(careful.settle(), Action::Vote);
}

#[test]
fn the_longest_max_ttl_is_how_long_a_node_waits() {
    let mut short = client(RestartCheck::Standard, ms(1_000), false);
    short.settle();
    short.run_id = Some("run2");
    assert!(matches!(short.settle(), Action::Hold { .. }));
    assert_eq!(short.left(), ms(2_540));
    let mut long = standard();
    after(&mut long, &short, ms(3_000));
    assert!(
        matches!(long.settle(), Action::Hold { .. }),
        "over for the other one"
    );
    long.say();
    after(&mut short, &long, Duration::ZERO);
    let verdict = short.check();
    assert!(matches!(verdict.action, Action::Hold { .. }), "{verdict:?}");
    assert!(
        verdict
            .disagreement
            .unwrap()
            .contains("`max_ttl` of 10 s, this one has 1 s")
    );
    short.pass(QUARANTINE.saturating_sub(ms(3_001)));
    assert!(matches!(short.settle(), Action::Hold { .. }));
    short.pass(ms(1));
    assert_eq!(short.settle(), Action::Vote);
    short.run_id = Some("run3");
    assert!(matches!(short.settle(), Action::Hold { .. }));
    assert_eq!(short.left(), QUARANTINE, "it knows now");
}

#[test]
fn what_is_said_is_said_once_in_a_while_and_only_by_the_strictest() {
    let (mut long, mut short) = (standard(), client(RestartCheck::Standard, ms(1_000), true));
    let marked = marker("run1", long.time);
    long.marker.clone_from(&marked);
    assert!(long.say().settings_write.is_some());
    let text = String::from_utf8(long.marker.clone().unwrap()).unwrap();
    let first = String::from_utf8(marked.unwrap()).unwrap();
    assert!(
        text.starts_with(&format!("{first}\n2 ")),
        "{text}: readable as ever"
    );
    assert_eq!(long.say().settings_write, None);
    after(&mut short, &long, ms(31_000));
    assert_eq!(short.say().settings_write, None, "it has nothing to add");
    long.pass(ms(31_000));
    assert!(long.say().settings_write.is_some());
}

/// A client of the first version, whose markers say nothing of it, and who reads the first line only.
#[test]
fn a_marker_of_the_first_version_is_read_as_ever() {
    let mut a = standard();
    a.marker = marker("run1", a.time + ms(500));
    let action = a.say().action;
    assert!(matches!(action, Action::Hold { look_again, .. } if look_again == ms(500)));
    a.pass(ms(500));
    assert_eq!(a.say().action, Action::Vote);
    a.run_id = Some("run2");
    assert!(matches!(a.settle(), Action::Hold { .. }));
}
