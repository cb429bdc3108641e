//! Fencing tokens over a quorum: numbers that a store can order holders by.
#![doc = include_str!("fencing.md")]

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use crate::env::micros;
use crate::model::brief::Brief;
use crate::model::resource::{COUNTERS, Resource};
use crate::node::hash_slot::keys_beside;
use crate::node::operation::HINT_WINDOW;
use crate::node::{Answer, NodeError, NodeErrorKind, NodeSet, NodeTime};

use super::majority;
use super::round::MOST_NODES;

/// A lock's number: unique for its resource, and higher than the number of every earlier holder. A
/// store that refuses a write with a token below the highest that it has seen is safe from a holder
/// that was paused past the end of its lease.
///
/// It is about the time in µs since 1970, so it fits an `i64` and the double of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(NonZeroU64);

impl FencingToken {
    /// Counters begin above zero.
    pub(crate) const fn new(counter: u64) -> Self {
        match NonZeroU64::new(counter) {
            Some(counter) => Self(counter),
            None => Self(NonZeroU64::MIN),
        }
    }

    /// The number.
    pub const fn as_u64(self) -> u64 {
        self.0.get()
    }

    /// The number, for databases whose integers are signed.
    pub const fn as_i64(self) -> i64 {
        // Counters come from scripts, whose numbers are exact only up to 2^53.
        self.as_u64().cast_signed()
    }
}

impl fmt::Display for FencingToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<FencingToken> for u64 {
    fn from(token: FencingToken) -> Self {
        token.as_u64()
    }
}

impl From<FencingToken> for i64 {
    fn from(token: FencingToken) -> Self {
        token.as_i64()
    }
}

/// The least value of the counters in an acquisition, in µs since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hint {
    pub(crate) micros: u64,
    /// If true, a node whose clock is too far from the hint refuses. Otherwise the node limits the hint
    /// to the window around its own clock.
    pub(crate) is_of_nodes: bool,
}

impl Hint {
    /// The median of the nodes' clocks, if a majority is known to be near it; otherwise `wall`. If the
    /// clocks of a majority are compared, a node that is too far from the hint refuses in either case:
    /// a client that knows too few clocks does not ask a node to count by the node's own clock.
    ///
    /// With an odd number of clocks the median is one of them. If the clocks of a majority are right,
    /// the median is right too. Two clocks that disagree are equally far from their median. A few wrong
    /// clocks may be the median of the known ones, but they are no majority of all nodes.
    pub(crate) fn of(nodes: &NodeSet, wall: impl FnOnce() -> Duration) -> Self {
        let mut times = [0; MOST_NODES];
        let (mut known, mut compared) = (0, 0);
        for node in nodes.iter().take(MOST_NODES) {
            match node.time() {
                NodeTime::Uncompared => {}
                NodeTime::Unread => compared += 1,
                NodeTime::Shows(time) => {
                    times[known] = micros(time);
                    (known, compared) = (known + 1, compared + 1);
                }
            }
        }
        let needed = majority(nodes.len());
        let is_of_nodes = compared >= needed;
        let times = &mut times[..known];
        let time = median(times).filter(|median| {
            let window = micros(HINT_WINDOW);
            let agree = times
                .iter()
                .filter(|time| (**time - median).abs() <= window);
            let agree = agree.count();
            known >= needed && (agree == 0 || agree >= needed)
        });
        let micros = time.unwrap_or_else(|| micros(wall()));
        Self {
            micros: u64::try_from(micros).unwrap_or_default(),
            is_of_nodes,
        }
    }
}

/// The median of `values`, or the middle between the two middle ones. Sorts them.
pub(crate) fn median(values: &mut [i128]) -> Option<i128> {
    values.sort_unstable();
    let above = *values.get(values.len() / 2)?;
    let below = *values.get((values.len() - 1) / 2)?;
    Some(below + (above - below) / 2)
}

/// The answer to a fenced acquisition of a node whose clock is `ahead_us` ahead of the nodes' time.
pub(crate) fn clock_outlier(ahead_us: i64) -> NodeError {
    let direction = if ahead_us > 0 { "ahead of" } else { "behind" };
    let by = Brief(Duration::from_micros(ahead_us.unsigned_abs()));
    let detail = format!(
        "its clock is {by} {direction} what the nodes' clocks show in the median, so it \
         does not vote for a fenced lock",
    );
    NodeError::unsent(NodeErrorKind::Clock, detail)
}

/// The fencing token that the counters of a majority allow.
pub(crate) struct TokenChoice {
    pub(crate) token: FencingToken,
    /// The seats of the majority whose counters are below the token. They have to be raised to it,
    /// while our key is still there, before the lock counts as held.
    pub(crate) below: Vec<usize>,
}

impl TokenChoice {
    /// Chooses by the votes of an acquisition; `None` if no majority granted with a counter.
    ///
    /// It prefers a majority whose counters agree, if there is one, as that needs no second round.
    pub(crate) fn of(answers: &[Option<Answer>]) -> Option<Self> {
        let mut grants: Vec<(u64, usize)> = answers
            .iter()
            .enumerate()
            .filter_map(|(seat, answer)| match answer {
                Some(Answer::Granted {
                    counter: Some(counter),
                    ..
                }) => Some((*counter, seat)),
                _ => None,
            })
            .collect();
        let needed = majority(answers.len());
        // Highest first: of equal counters of a majority, the last ones are the lowest.
        grants.sort_unstable_by(|one, other| other.cmp(one));
        let agreed = grants
            .windows(needed)
            .find(|window| window.first().map(|w| w.0) == window.last().map(|w| w.0));
        let chosen = agreed.or_else(|| grants.get(..needed))?;
        let (token, _) = *chosen.first()?;
        let below = chosen.iter().filter(|(counter, _)| *counter < token);
        Some(Self {
            token: FencingToken::new(token),
            below: below.map(|(_, seat)| *seat).collect(),
        })
    }
}

/// The keys of the fencing counters of `keys`, with `prefix`.
pub(crate) fn counter_keys(keys: &Resource, prefix: &[u8]) -> Resource {
    keys_beside(keys, prefix, COUNTERS)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::resource::RESERVED_PREFIX;
    use crate::node::hash_slot::slot_of;
    use crate::node::operation::Operation;
    use crate::node::{Holding, Node, NodeStatus, Reply};

    /// A node with a known or unknown clock.
    struct Shows(NodeTime);

    impl Node for Shows {
        fn name(&self) -> &'static str {
            "a"
        }

        fn submit(&self, _operation: Arc<Operation>, _reply: Reply) {}

        fn status(&self) -> NodeStatus {
            NodeStatus::Voting
        }

        fn time(&self) -> NodeTime {
            self.0
        }
    }

    /// The hint of a host at 1000 s to these nodes.
    fn hint_to(known: impl IntoIterator<Item = NodeTime>) -> Hint {
        let nodes = known.into_iter();
        let nodes = nodes.map(|known| Arc::new(Shows(known)) as Arc<dyn Node>);
        Hint::of(&nodes.collect(), || Duration::from_secs(1000))
    }

    /// The same for nodes whose clocks show these seconds, or were not read.
    fn hint(shown: &[Option<u64>]) -> Hint {
        hint_to(shown.iter().map(|shown| match shown {
            Some(seconds) => NodeTime::Shows(Duration::from_secs(*seconds)),
            None => NodeTime::Unread,
        }))
    }

    fn of_nodes(micros: u64) -> Hint {
        Hint {
            micros,
            is_of_nodes: true,
        }
    }

    #[test]
    fn the_time_is_what_most_nodes_show_and_not_what_this_host_does() {
        assert_eq!(hint(&[Some(7), Some(90), Some(7)]), of_nodes(7_000_000));
        assert_eq!(hint(&[Some(7), Some(8), Some(90)]), of_nodes(8_000_000));
        assert_eq!(hint(&[Some(7), Some(8), None]), of_nodes(7_500_000));
        assert_eq!(hint(&[Some(7)]), of_nodes(7_000_000));
        let even = [Some(7), Some(0), Some(7), Some(7)];
        assert_eq!(hint(&even), of_nodes(7_000_000));
    }

    /// A node whose clock is far from this host's refuses, and does not count by its own clock.
    #[test]
    fn it_is_this_hosts_where_too_little_is_known_yet() {
        let host = of_nodes(1_000_000_000);
        assert_eq!(hint(&[Some(7), None, None]), host);
        assert_eq!(hint(&[None]), host);
        assert_eq!(hint(&[Some(90), Some(90), Some(7), None, None]), host);
        assert_eq!(
            hint(&[Some(90), Some(7), None]),
            of_nodes(48_500_000),
            "none"
        );
    }

    #[test]
    fn a_node_holds_it_to_its_own_clock_only_where_nobody_compares() {
        let host = Hint {
            micros: 1_000_000_000,
            is_of_nodes: false,
        };
        let shows = NodeTime::Shows(Duration::from_secs(7));
        let other = NodeTime::Uncompared;
        assert_eq!(hint_to([other; 3]), host);
        assert_eq!(hint_to([shows, other, other]), host);
        assert_eq!(hint_to([shows, shows, other]), of_nodes(7_000_000));
        let unread = hint_to([shows, NodeTime::Unread, other]);
        assert_eq!(unread, of_nodes(1_000_000_000));
    }

    /// The choice among nodes that granted with these counters; `None` for a node that did not answer.
    fn choice<const N: usize>(counters: [Option<u64>; N]) -> Option<(u64, Vec<usize>)> {
        let granted = |counter| Answer::Granted {
            counter: Some(counter),
            epoch: 0,
            permits: None,
        };
        let votes = counters.map(|counter| counter.map(granted));
        TokenChoice::of(&votes).map(|choice| (choice.token.as_u64(), choice.below))
    }

    #[test]
    fn a_majority_that_agrees_needs_no_second_round() {
        assert_eq!(choice([Some(7); 3]), Some((7, vec![])));
        assert_eq!(choice([Some(9), Some(7), Some(7)]), Some((7, vec![])));
        assert_eq!(choice([Some(7), None, Some(7)]), Some((7, vec![])));
    }

    #[test]
    fn otherwise_the_lower_ones_of_a_majority_are_lifted_to_its_highest() {
        assert_eq!(choice([Some(9), Some(8), Some(7)]), Some((9, vec![1])));
        assert_eq!(choice([Some(3), None, Some(5)]), Some((5, vec![0])));
    }

    #[test]
    fn less_than_a_majority_has_no_token() {
        assert_eq!(choice([Some(3), None, None]), None);
        let held = Some(Answer::Held(Holding::default()));
        let uncounted = [held, Some(Answer::GRANTED), Some(Answer::GRANTED)];
        assert!(TokenChoice::of(&uncounted).is_none());
    }

    #[test]
    fn a_counter_is_in_the_slot_of_its_lock() {
        let (mut counters, prefixes) = (Vec::new(), [&b""[..], b"shop:"]);
        for prefix in prefixes {
            for name in [&b"order:42"[..], b"{order:42}", b"a{b}c", b"x{", b"\xff"] {
                let key = [prefix, name].concat();
                let counter = counter_keys(&Resource::from(key.clone()), prefix);
                let counter = counter.names().next().unwrap().to_vec();
                assert_eq!(slot_of(&counter), slot_of(&key), "{}", key.escape_ascii());
                assert!(counter.starts_with(&[prefix, RESERVED_PREFIX].concat()));
                counters.push(counter);
            }
        }
        let all = counters.len();
        counters.sort();
        counters.dedup();
        assert_eq!(counters.len(), all, "no two locks share a counter");
    }
}
