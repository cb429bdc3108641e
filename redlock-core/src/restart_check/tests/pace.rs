//! Clocks that run too fast, and small steps.

use proptest::prelude::*;

use super::*;

/// How often nodes are looked at that vote.
pub(super) const HEARTBEAT: Duration = Duration::from_secs(10);

/// Lets a node's clock run faster for a while, in parts of a thousand.
pub(super) fn slew(node: &mut Bench, span: Duration, per_mille: u64) {
    node.pass(span);
    node.time += span * u32::try_from(per_mille).unwrap() / 1000;
}

/// What becomes of nodes that are looked at as their restart check wants it, each after the others.
fn looked_at(nodes: &mut [Bench; 3]) -> [Verdict; 3] {
    let first = nodes.each_mut().map(Bench::check);
    pass(nodes, ms(25));
    let second = nodes.each_mut().map(Bench::check);
    pass(nodes, ms(25));
    let mut last = nodes.each_mut().map(Bench::check);
    for (index, verdict) in last.iter_mut().enumerate() {
        verdict.is_new_epoch |= first[index].is_new_epoch || second[index].is_new_epoch;
    }
    last
}

fn votes(verdicts: &[Verdict; 3]) -> [bool; 3] {
    [0, 1, 2].map(|index| verdicts[index].action == Action::Vote)
}

#[test]
fn a_node_that_runs_faster_than_the_drift_votes_no_while_it_does_and_keeps_its_marker() {
    for per_mille in [15, 50, 83] {
        let mut nodes = three();
        let markers: Vec<_> = nodes.iter().map(|node| node.marker.clone()).collect();
        let mut epochs = [0; 3];
        for round in 0..30 {
            pass(&mut nodes, HEARTBEAT);
            nodes[0].time += HEARTBEAT * per_mille / 1000;
            let verdicts = looked_at(&mut nodes);
            assert_eq!(votes(&verdicts), [false, true, true], "{per_mille} {round}");
            for (epochs, verdict) in epochs.iter_mut().zip(&verdicts) {
                *epochs += u32::from(verdict.is_new_epoch);
            }
            let text = reason(&verdicts[0].action);
            assert!(
                text.contains("faster than the drift allowance covers"),
                "{text}"
            );
        }
        // Once, if it gained half a second in the time that a lock may live.
        assert_eq!(epochs, [u32::from(per_mille == 83), 0, 0], "{per_mille}");
        // In order again, and for as long as it takes to make up for what may concern a lock.
        let mut waited = Duration::ZERO;
        while !votes(&looked_at(&mut nodes))[0] {
            pass(&mut nodes, ms(500));
            waited += ms(500);
        }
        assert!(waited <= QUARANTINE, "{waited:?}");
        for (node, marker) in nodes.iter().zip(markers) {
            assert_eq!(node.marker, marker);
        }
    }
}

#[test]
fn a_small_step_costs_votes_until_the_drift_has_made_up_for_it() {
    let mut a = Bench::voting();
    let marker = a.marker.clone();
    for by in [5, 30, 100] {
        a.pass(ms(100_000));
        assert_eq!(a.check().action, Action::Vote);
        a.time += ms(by);
        let verdict = a.check();
        assert!(!verdict.is_new_epoch && verdict.stepped_ms.is_none());
        let Action::Hold { look_again, .. } = verdict.action else {
            panic!("{by} ms ahead, and it votes");
        };
        assert!(look_again <= ms(500));
        // 2 ms are covered at any time.
        a.pass(ms((by - 2) * 100 - 1));
        assert!(matches!(a.check().action, Action::Hold { .. }));
        a.pass(ms(1));
        assert_eq!(a.check().action, Action::Vote);
    }
    assert_eq!(a.marker, marker);
}

#[test]
fn a_step_below_half_a_second_is_noticed_at_the_next_check() {
    let mut nodes = three();
    pass(&mut nodes, HEARTBEAT);
    nodes[1].time += ms(490);
    let verdicts = looked_at(&mut nodes);
    assert_eq!(votes(&verdicts), [true, false, true]);
}

/// It may have been a slew, so no quarantine is written. Leases that rest on the node are still lost.
#[test]
fn a_movement_that_a_slew_explains_is_an_epoch_if_it_is_half_a_second() {
    let mut a = Bench::voting();
    let marker = a.marker.clone();
    a.pass(HEARTBEAT);
    a.time += ms(700);
    let verdict = a.check();
    assert!(verdict.is_new_epoch && verdict.stepped_ms.is_none());
    assert!(matches!(verdict.action, Action::Hold { .. }));
    assert!(!a.check().is_new_epoch, "once");
    a.pass(QUARANTINE);
    assert_eq!(a.settle(), Action::Vote);
    assert_eq!(a.marker, marker);
    a.pass(HEARTBEAT);
    a.time -= ms(700);
    assert_eq!(a.check().action, Action::Vote, "its keys live longer");
}

#[test]
fn a_slow_answer_neither_opens_a_node_nor_closes_one() {
    let mut a = Bench::voting();
    a.pass(ms(1_000));
    a.round_trip = ms(3_000);
    a.time += ms(400);
    assert_eq!(a.check().action, Action::Vote);
    a.round_trip = ms(0);
    assert!(matches!(a.check().action, Action::Hold { .. }));
    a.round_trip = ms(3_000);
    assert!(matches!(a.check().action, Action::Hold { .. }));
    a.round_trip = ms(0);
    assert!(matches!(a.check().action, Action::Hold { .. }));
    a.time -= ms(400);
    assert_eq!(a.check().action, Action::Vote, "it went back");
}

#[test]
fn a_node_that_was_away_for_long_and_ran_too_fast_does_not_vote_at_once() {
    let mut a = Bench::voting();
    a.node_check.unreachable();
    slew(&mut a, QUARANTINE * 2, 20);
    assert!(matches!(a.check().action, Action::Hold { .. }));
    a.pass(QUARANTINE);
    assert_eq!(a.check().action, Action::Vote);
}

/// Looks are about as far apart as keys live. The step came behind a key, perhaps.
#[test]
fn a_gain_counts_for_keys_that_were_set_just_before_it() {
    let mut a = Bench::voting();
    a.pass(HEARTBEAT);
    a.time += ms(200);
    for _ in 0..20 {
        assert!(matches!(a.check().action, Action::Hold { .. }));
        a.pass(ms(500));
    }
    assert!(HEARTBEAT >= MAX_TTL);
    a.pass(ms(1_000));
    assert_eq!(a.check().action, Action::Vote);
}

#[test]
fn a_clock_within_the_drift_and_one_that_falls_behind_cost_nothing() {
    let mut nodes = three();
    for _ in 0..1000 {
        pass(&mut nodes, HEARTBEAT);
        nodes[0].time += HEARTBEAT / 100;
        nodes[1].time -= HEARTBEAT * 4 / 100;
        assert_eq!(votes(&looked_at(&mut nodes)), [true; 3]);
    }
}

#[test]
fn the_slew_of_this_host_closes_no_node() {
    for per_mille in [15, 50, 83, 100] {
        let mut nodes = three();
        let mut given_up = 0;
        for _ in 0..60 {
            // Looked at one after the other, some seconds apart.
            for _ in 0..5 {
                for node in &mut nodes {
                    slew(node, ms(1_000), per_mille);
                }
                let verdict = nodes[0].check();
                assert_eq!(verdict.action, Action::Vote);
                given_up += u32::from(verdict.is_new_epoch);
            }
            for node in &mut nodes {
                slew(node, ms(5_000), per_mille);
            }
            let verdicts = looked_at(&mut nodes);
            assert_eq!(votes(&verdicts), [true; 3], "{per_mille}");
            given_up += u32::from(verdicts[0].is_new_epoch);
        }
        // What this host lost is no more than is remembered of it.
        assert!(given_up <= 60, "{given_up}");
    }
}

#[test]
fn a_host_that_lost_half_a_second_gives_its_leases_up() {
    let peers = Arc::new(CheckedSet::new(RestartCheck::Standard, ms(600_000), 3));
    let mut nodes = ["run1", "run2", "run3"].map(|run| Bench::new(&peers, run, run));
    for _ in 0..3 {
        for node in &mut nodes {
            node.settle();
        }
    }
    let mut given_up = [0; 3];
    for _ in 0..10 {
        for node in &mut nodes {
            slew(node, HEARTBEAT, 83);
        }
        for (index, verdict) in looked_at(&mut nodes).iter().enumerate() {
            assert_eq!(verdict.action, Action::Vote);
            given_up[index] += u32::from(verdict.is_new_epoch);
        }
    }
    assert!(
        given_up.iter().all(|times| (5..=10).contains(times)),
        "{given_up:?}"
    );
}

#[test]
fn a_server_that_is_new_in_its_place_leaves_the_slew_of_this_host_to_this_host() {
    let mut nodes = three();
    for round in 0..120 {
        for node in &mut nodes {
            slew(node, ms(1_000), 83);
        }
        if round == 60 {
            nodes[2].run_id = Some("run4");
            nodes[2].settle();
        }
        let verdicts = looked_at(&mut nodes);
        assert_eq!(votes(&verdicts)[..2], [true; 2], "{round}");
    }
}

#[test]
fn the_others_are_not_asked_again_and_again_where_round_trips_leave_it_open() {
    let mut nodes = three();
    let doubts = |nodes: &[Bench; 3]| nodes[0].node_check.peers.doubts();
    // This host lost 80 ms, and one node is far away.
    nodes[2].round_trip = ms(100);
    pass(&mut nodes, ms(1_000));
    for node in &mut nodes {
        node.time += ms(80);
    }
    let before = doubts(&nodes);
    let mut looks = 0;
    for _ in 0..400 {
        pass(&mut nodes, ms(25));
        let verdict = nodes[0].check();
        assert_eq!(verdict.action, Action::Vote);
        looks += u32::from(verdict.look_again.is_some());
    }
    assert!(doubts(&nodes) - before <= 3, "in ten seconds");
    assert!(looks <= 3 * 21, "{looks}");
}

#[test]
fn on_a_slow_network_no_more_is_noticed_than_the_round_trip_leaves_open() {
    let mut a = Bench::voting();
    a.pass(ms(1_000));
    a.round_trip = ms(400);
    a.time += ms(210);
    assert_eq!(a.check().action, Action::Vote);
    a.time += ms(30);
    assert!(matches!(a.check().action, Action::Hold { .. }));
}

#[derive(Clone, Debug)]
struct Leg {
    span_ms: u64,
    /// How much faster the clock runs, in parts of a million, and how far it steps.
    rate: i64,
    step_us: i64,
}

fn leg(most: i64) -> impl Strategy<Value = Leg> {
    let rate = prop_oneof![Just(0), -most..=most];
    let step = prop_oneof![9 => Just(0_i64), 1 => -700_000..700_000_i64];
    (1_u64..3_000, rate, step).prop_map(|(span_ms, rate, step_us)| Leg {
        span_ms,
        rate,
        step_us,
    })
}

fn advance(a: &mut Bench, by_us: i64) {
    let by = Duration::from_micros(by_us.unsigned_abs());
    if by_us < 0 {
        a.time -= by;
    } else {
        a.time += by;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// However a clock is slewed and set: while a node votes, it has the key of each lease that is not
    /// over. Between two checks a gain of 1 % of the time is not noticed, nor a gain after the clock
    /// ran slow.
    #[test]
    fn a_node_that_votes_has_the_key_of_every_lease_that_is_not_over(
        legs in prop::collection::vec(leg(120_000), 1..60),
    ) {
        let mut a = Bench::voting();
        let mut seen: Vec<(Duration, Duration, Duration)> = Vec::new();
        let mut has_voted = true;
        for leg in legs {
            let span = ms(leg.span_ms);
            a.pass(span);
            let ran = i64::try_from(span.as_micros()).unwrap() * leg.rate / 1_000_000;
            advance(&mut a, ran);
            let behind = Duration::from_micros(u64::try_from(-ran).unwrap_or(0));
            // Only a node that votes sets keys between two looks.
            if has_voted {
                seen.push((a.now.since_origin(), a.time, span / 100 + behind));
            }
            advance(&mut a, leg.step_us);
            let action = a.settle();
            let now = a.now.since_origin();
            has_voted = action == Action::Vote;
            if has_voted {
                for (then, shown, unseen) in &seen {
                    // The longest ttl of a key set then that is gone by now.
                    let ttl = a.time.saturating_sub(*shown).min(MAX_TTL);
                    let lease = ttl.saturating_sub(ttl / 100);
                    let held_for = now.saturating_sub(*then);
                    prop_assert!(
                        held_for + *unseen + ms(2) + ms(1) / 100 >= lease,
                        "of {ttl:?} after {held_for:?}",
                    );
                }
            }
            seen.push((now, a.time, Duration::ZERO));
        }
    }

    /// Wherever in the round trip the node reads its clock.
    #[test]
    fn a_clock_within_the_drift_is_never_taken_for_one_that_is_not(
        looks in prop::collection::vec((0_u64..20_000, 0_u64..400, 0_u64..=100, -9_900_i64..=9_900), 1..60),
    ) {
        let mut a = Bench::voting();
        for (span, round_trip, place, rate) in looks {
            let span = ms(span);
            a.pass(span);
            advance(&mut a, i64::try_from(span.as_micros()).unwrap() * rate / 1_000_000);
            let asked = a.now;
            let (before, after) = (round_trip * place, round_trip * (100 - place));
            a.pass(Duration::from_micros(before * 10));
            let time = a.time;
            a.pass(Duration::from_micros(after * 10));
            let verdict = a.node_check.check(&CheckAnswer {
                run_id: a.run_id,
                started: None,
                marker: a.marker.as_deref(),
                time,
                asked,
                answered: a.now,
            });
            prop_assert_eq!(verdict.action, Action::Vote);
        }
    }
}
