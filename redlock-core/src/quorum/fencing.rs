//! Fencing tokens of a quorum: numbers by which a store orders the holders.
#![doc = include_str!("fencing.md")]

use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use crate::env::Clock;
use crate::node::Vote;

use super::majority;

/// The number of a lease, unique for its resource and above those of earlier holders.
///
/// Readers may share a number, which is above that of every earlier writer and below that of every later one. A store
/// that refuses a write with a token below the highest one it has seen is safe from a holder that was paused past the
/// end of its lease. The number is close to the time in µs since 1970, so it fits an `i64`, and the double of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FencingToken(NonZeroU64);

impl FencingToken {
    /// Makes the token of a counter. The number is never zero, because counters begin above zero.
    pub(crate) fn new(counter: u64) -> Self {
        Self(NonZeroU64::new(counter).unwrap_or(NonZeroU64::MIN))
    }

    /// Returns the number.
    pub const fn as_u64(self) -> u64 {
        self.0.get()
    }

    /// Returns the number for databases that have only signed integers.
    pub const fn as_i64(self) -> i64 {
        // The cast is exact, because scripts count only up to 2^53.
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

/// The largest distance that a hint may have from a node's own clock.
pub const HINT_WINDOW: Duration = Duration::from_secs(1);

/// The least time for which a counter lives after its last use. Tokens stay in order without it too, because the next
/// counter is then at least the clock's time.
pub const COUNTER_IDLE: Duration = Duration::from_secs(60 * 60);

/// Returns the least value of an acquisition's counters: the time in µs since 1970 by this host's clock.
pub(crate) fn hint(clock: &dyn Clock) -> u64 {
    u64::try_from(clock.wall().as_micros()).unwrap_or(u64::MAX)
}

/// The number that follows from the counters of a majority.
pub(crate) struct TokenChoice {
    /// The number to which the counters of the majority are raised.
    pub(crate) count: u64,
    /// The seats of the majority whose counters are below `count`. These counters have to be raised to it while our key
    /// is still there, before the lock counts as held.
    pub(crate) below: Vec<usize>,
}

impl TokenChoice {
    /// Chooses from the votes of an acquisition. Returns `None` if no majority granted with a counter.
    ///
    /// A majority whose counters agree is preferred, because it needs no second round.
    pub(crate) fn of(answers: &[Option<Vote>]) -> Option<Self> {
        let grants = answers.iter().enumerate();
        let grants = grants.filter_map(|(seat, answer)| match answer {
            Some(Vote::Granted { counter, .. }) => Some(((*counter)?, seat)),
            _ => None,
        });
        let mut grants: Vec<_> = grants.collect();
        let needed = majority(answers.len());
        // Sort the highest first: the first window has the highest counters, and a window agrees if its ends do.
        grants.sort_unstable_by(|one, other| other.cmp(one));
        let agreed = grants
            .windows(needed)
            .find(|window| window.first().map(|w| w.0) == window.last().map(|w| w.0));
        let chosen = agreed.or_else(|| grants.get(..needed))?;
        let (count, _) = *chosen.first()?;
        let below = chosen.iter().filter(|(counter, _)| *counter < count);
        Some(Self {
            count,
            below: below.map(|(_, seat)| *seat).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Holding;

    /// Returns the choice among nodes that granted with these counters. `None` stands for a node that did not answer.
    fn choice<const N: usize>(counters: [Option<u64>; N]) -> Option<(u64, Vec<usize>)> {
        let granted = |counter| Vote::Granted {
            counter: Some(counter),
            epoch: 0,
            choice: None,
        };
        let votes = counters.map(|counter| counter.map(granted));
        TokenChoice::of(&votes).map(|choice| (choice.count, choice.below))
    }

    #[test]
    fn a_majority_that_agrees_needs_no_second_round() {
        assert_eq!(choice([Some(7); 3]), Some((7, vec![])));
        assert_eq!(choice([Some(9), Some(7), Some(7)]), Some((7, vec![])));
        assert_eq!(choice([Some(7), None, Some(7)]), Some((7, vec![])));
    }

    #[test]
    fn the_lower_ones_of_a_majority_are_lifted_to_its_highest() {
        assert_eq!(choice([Some(9), Some(8), Some(7)]), Some((9, vec![1])));
        assert_eq!(choice([Some(3), None, Some(5)]), Some((5, vec![0])));
    }

    #[test]
    fn less_than_a_majority_has_no_token() {
        assert_eq!(choice([Some(3), None, None]), None);
        let held = Some(Vote::Held(Holding::default()));
        let uncounted = [held, Some(Vote::GRANTED), Some(Vote::GRANTED)];
        assert!(TokenChoice::of(&uncounted).is_none());
    }
}
