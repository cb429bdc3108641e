//! After how long a clock that runs too fast is noticed, and whose it is.

use proptest::prelude::*;

use super::pace::{HEARTBEAT, slew};
use super::*;

/// Nodes that are looked at whenever their restart check wants it, as a driver does.
struct Watched {
    nodes: [Bench; 3],
    /// When each is looked at next.
    due: [Moment; 3],
    doubts: [u64; 3],
}

/// The usual one.
const LONG_TTL: Duration = Duration::from_secs(300);

const TICK: Duration = Duration::from_millis(25);

impl Watched {
    /// Nodes that are first due at these times from now.
    fn new(max_ttl: Duration, first: [Duration; 3]) -> Self {
        let peers = Arc::new(CheckedSet::new(RestartCheck::Standard, max_ttl, 3));
        let mut nodes = ["run1", "run2", "run3"].map(|run_id| Bench::new(&peers, run_id, run_id));
        let [a, b, c] = &mut nodes;
        assert_eq!(settle_all([a, b, c]), [const { Action::Vote }; 3]);
        Self {
            due: first.map(|span| nodes[0].now.saturating_add(span)),
            nodes,
            doubts: [0; 3],
        }
    }

    /// Passes a time in which the clocks run faster, in parts of a thousand. Which node votes, after
    /// each look, and after what time.
    fn pass(&mut self, span: Duration, per_mille: [u64; 3]) -> Vec<(Duration, usize, bool)> {
        let mut seen = Vec::new();
        let began = self.nodes[0].now;
        while self.nodes[0].now < began.saturating_add(span) {
            for (node, per_mille) in self.nodes.iter_mut().zip(per_mille) {
                slew(node, TICK, per_mille);
            }
            for index in 0..3 {
                let doubts = self.nodes[0].node_check.peers.doubts();
                let now = self.nodes[index].now;
                if self.due[index] > now && self.doubts[index] == doubts {
                    continue;
                }
                let verdict = self.nodes[index].check();
                // Its own are no reason to look at it again.
                self.doubts[index] = self.nodes[0].node_check.peers.doubts();
                let next = match verdict.action {
                    Action::Vote => verdict.look_again.unwrap_or(HEARTBEAT),
                    Action::Hold { look_again, .. } => look_again,
                    other => panic!("{other:?}"),
                };
                self.due[index] = now.saturating_add(next);
                let votes = verdict.action == Action::Vote;
                seen.push((now.saturating_since(began), index, votes));
            }
        }
        seen
    }
}

#[test]
fn five_percent_are_noticed_at_the_next_check_and_one_and_a_tenth_at_the_third() {
    for (per_mille, checks) in [(11, 3), (15, 1), (50, 1), (83, 1)] {
        for first in [[0, 0, 0], [0, 2_500, 5_000], [9_000, 100, 1_000]] {
            let mut nodes = Watched::new(LONG_TTL, first.map(ms));
            nodes.pass(HEARTBEAT * 2, [0; 3]);
            let seen = nodes.pass(HEARTBEAT * checks + TICK * 4, [per_mille, 0, 0]);
            let first = seen.iter().find(|(_, _, votes)| !votes);
            assert_eq!(first.map(|it| it.1), Some(0), "{per_mille}: {seen:?}");
            let later = nodes.pass(HEARTBEAT * 20, [per_mille, 0, 0]);
            for (at, index, votes) in later {
                assert_eq!(votes, index != 0, "{per_mille}: {index} after {at:?}");
            }
        }
    }
}

/// The longest ttl is about the time between two looks.
#[test]
fn a_node_that_runs_too_fast_does_not_vote_now_and_then() {
    for per_mille in [11, 12, 15, 50] {
        let mut nodes = Watched::new(MAX_TTL, [ms(0); 3]);
        nodes.pass(HEARTBEAT * 2, [0; 3]);
        nodes.pass(HEARTBEAT * 2, [per_mille, 0, 0]);
        let later = nodes.pass(HEARTBEAT * 20, [per_mille, 0, 0]);
        for (at, index, votes) in later {
            assert_eq!(votes, index != 0, "{per_mille}: {index} after {at:?}");
        }
    }
}

/// A node that is held is looked at often, and the others are not.
#[test]
fn a_node_that_runs_too_fast_does_not_have_the_others_asked_all_the_time() {
    let mut nodes = Watched::new(LONG_TTL, [ms(0); 3]);
    let seen = nodes.pass(HEARTBEAT * 10, [50, 0, 0]);
    let looks = |of: usize| seen.iter().filter(|(_, index, _)| *index == of).count();
    assert!(looks(0) >= 150, "{}", looks(0));
    assert!(
        looks(1) <= 30 && looks(2) <= 30,
        "{} {}",
        looks(1),
        looks(2)
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// However long ago each node was looked at when it begins.
    #[test]
    fn no_node_is_closed_because_this_host_is_slewed(
        max_ttl in prop_oneof![Just(MAX_TTL), Just(LONG_TTL)],
        first in prop::array::uniform3(0_u64..10_000),
        quiet in 0_u64..25_000,
        per_mille in 11_u64..=90,
        slewed in 25_u64..60_000,
    ) {
        let mut nodes = Watched::new(max_ttl, first.map(ms));
        let mut seen = nodes.pass(ms(quiet), [0; 3]);
        seen.extend(nodes.pass(ms(slewed), [per_mille; 3]));
        seen.extend(nodes.pass(ms(30_000), [0; 3]));
        for (at, index, votes) in seen {
            prop_assert!(votes, "{index} after {at:?}");
        }
    }
}
