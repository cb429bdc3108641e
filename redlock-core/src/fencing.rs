//! Fencing tokens over a quorum: numbers that a store can order holders by.
//!
//! Each node counts by itself. A token is the highest counter of a majority that granted, and the
//! lock is held once every node of that majority stands at it. Any two attempts that succeed share
//! a node that granted both, one after the other; there the later one counted on from a counter
//! that stood at the earlier one's token. ARCHITECTURE.md has the argument, and a model of it is
//! checked exhaustively.

use std::fmt;

use crate::node::Answer;
use crate::quorum::majority;
use crate::resource::{COUNTERS, RESERVED_PREFIX, Resource};
use crate::slot::hash_tag;

/// A number that came with a lock: unique for its resource, and higher than that of every earlier
/// holder. A store that refuses a write whose token is below the highest that it has seen is safe
/// from a holder that was paused past the end of its lease.
///
/// It is about the time in µs since 1970, so it fits an `i64` and the double of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(u64);

impl FencingToken {
    pub(crate) const fn new(counter: u64) -> Self {
        Self(counter)
    }

    /// The number.
    pub const fn as_u64(self) -> u64 {
        self.0
    }

    /// The number, for databases whose integers are signed.
    pub const fn as_i64(self) -> i64 {
        // Counters come from scripts, whose numbers are whole only up to 2^53.
        self.0.cast_signed()
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

/// What the counters of a majority amount to.
pub(crate) struct Ballot {
    pub(crate) token: FencingToken,
    /// The seats of the majority that stand below the token. They have to be lifted to it, while
    /// our key is still there, before the lock counts as held.
    pub(crate) below: Vec<usize>,
}

impl Ballot {
    /// From the votes of an acquisition; `None` where no majority granted with a counter.
    ///
    /// Of the majorities among the votes it takes one that agrees, where there is one: that needs
    /// no second round.
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
        // Highest first: of a majority that stands together, the last ones are the lowest.
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

/// The keys of the fencing counters of `keys`, which begin with `prefix`. Each is in the hash slot
/// of its lock key, so that one script may use both on a Redis Cluster; no key can be where the
/// name has a `}` but no hash tag.
///
/// No two lock keys share a counter: `{…}` and `:` keep those with a hash tag of their own apart
/// from those that become one.
pub(crate) fn counter_keys(keys: &Resource, prefix: &[u8]) -> Resource {
    Resource::all(keys.names().map(|key| {
        let name = key.strip_prefix(prefix).unwrap_or(key);
        let head = [prefix, RESERVED_PREFIX, COUNTERS].concat();
        if hash_tag(key).is_some() {
            [&head, b":".as_slice(), name].concat()
        } else {
            [&head, b"{".as_slice(), key, b"}"].concat()
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Holding;
    use crate::slot::slot_of;

    /// Of nodes that granted with these counters; `None` for one that did not answer.
    fn ballot<const N: usize>(counters: [Option<u64>; N]) -> Option<(u64, Vec<usize>)> {
        let granted = |counter| Answer::Granted {
            counter: Some(counter),
            epoch: 0,
        };
        let votes = counters.map(|counter| counter.map(granted));
        Ballot::of(&votes).map(|ballot| (ballot.token.as_u64(), ballot.below))
    }

    #[test]
    fn a_majority_that_agrees_needs_no_second_round() {
        assert_eq!(ballot([Some(7); 3]), Some((7, vec![])));
        assert_eq!(ballot([Some(9), Some(7), Some(7)]), Some((7, vec![])));
        assert_eq!(ballot([Some(7), None, Some(7)]), Some((7, vec![])));
    }

    #[test]
    fn otherwise_the_lower_ones_of_a_majority_are_lifted_to_its_highest() {
        assert_eq!(ballot([Some(9), Some(8), Some(7)]), Some((9, vec![1])));
        assert_eq!(ballot([Some(3), None, Some(5)]), Some((5, vec![0])));
    }

    #[test]
    fn less_than_a_majority_has_no_token() {
        assert_eq!(ballot([Some(3), None, None]), None);
        let held = Some(Answer::Held(Holding::default()));
        let uncounted = [held, Some(Answer::GRANTED), Some(Answer::GRANTED)];
        assert!(Ballot::of(&uncounted).is_none());
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
