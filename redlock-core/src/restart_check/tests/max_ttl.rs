//! Clients of different `max_ttl` on one node.

use super::*;

fn client(max_ttl: Duration) -> Bench {
    let peers = Arc::new(CheckedSet::new(RestartCheck::Standard, max_ttl, 1));
    Bench::new(&peers, "a", "run1")
}

/// A client with a tenth of [`MAX_TTL`], whose node votes, and a client with the whole.
fn short_and_long() -> [Bench; 2] {
    let [mut short, long] = [MAX_TTL / 10, MAX_TTL].map(client);
    assert_eq!(short.settle(), Action::Vote);
    [short, long]
}

/// What `bench` finds, after so long, on the node that `other` left.
fn after(bench: &mut Bench, other: &Bench, span: Duration) {
    bench.see(other);
    bench.pass(span);
}

/// The node restarted empty.
fn restart(bench: &mut Bench, run_id: &'static str) {
    (bench.run_id, bench.marker) = (Some(run_id), None);
}

#[test]
fn a_node_votes_for_a_client_once_its_marker_has_the_clients_max_ttl() {
    let [mut short, mut long] = short_and_long();
    let before = short.read();
    after(&mut long, &short, ms(1_000));
    let Action::Write { new, .. } = long.check().action else {
        panic!("it votes before others know of its locks");
    };
    let raised = Marker::parse(&new).unwrap();
    assert_eq!(raised.max_ttl(), MAX_TTL);
    assert!(raised.is_like(&before) && raised.since_ms == before.since_ms);
    assert_eq!(long.settle(), Action::Vote);
    after(&mut short, &long, ms(1_000));
    let verdict = short.check();
    assert_eq!(
        (verdict.action, verdict.is_new_epoch),
        (Action::Vote, false)
    );
}

#[test]
fn the_longest_max_ttl_that_a_client_knows_is_how_long_a_node_waits() {
    let [mut short, mut long] = short_and_long();
    restart(&mut short, "run2");
    assert!(matches!(short.settle(), Action::Hold { .. }));
    assert_eq!(short.left(), ms(2_540));
    after(&mut long, &short, ms(3_000));
    assert!(
        matches!(long.settle(), Action::Hold { .. }),
        "over for the other one"
    );
    after(&mut short, &long, Duration::ZERO);
    assert!(
        matches!(short.settle(), Action::Hold { .. }),
        "it knows now"
    );
    short.pass(QUARANTINE.saturating_sub(ms(3_001)));
    assert!(matches!(short.settle(), Action::Hold { .. }));
    short.pass(ms(1));
    assert_eq!(short.settle(), Action::Vote);
    restart(&mut short, "run3");
    assert!(matches!(short.settle(), Action::Hold { .. }));
    assert_eq!(short.left(), QUARANTINE, "though the node lost its marker");
    assert_eq!(short.read().max_ttl(), MAX_TTL);
}

#[test]
fn a_longer_max_ttl_is_forgotten_by_an_operators_word() {
    let [mut short, mut long] = short_and_long();
    after(&mut long, &short, ms(1_000));
    assert_eq!(long.settle(), Action::Vote);
    after(&mut short, &long, ms(1_000));
    assert_eq!(short.settle(), Action::Vote);
    short.marker = Some(IDLE.to_vec());
    assert_eq!(short.settle(), Action::Vote);
    assert_eq!(short.read().max_ttl(), MAX_TTL / 10);
    restart(&mut short, "run2");
    assert!(matches!(short.settle(), Action::Hold { .. }));
    assert_eq!(short.left(), ms(2_540));
}
