//! Fencing tokens of a quorum: numbers by which a store orders the holders.
#![doc = include_str!("fencing.md")]

use std::cmp::Reverse;
use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use crate::env::Clock;
use crate::node::{Counter, Vote};

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

/// The most numbers of one acquisition. The fastest turns take some µs, so these suffice for a streak of several times
/// the default `handover_time`.
const MOST_NUMBERS: u64 = 4000;

/// The growth of a block of numbers that was used up.
const GROWTH: u64 = 16;

/// The most µs by which a hint may be ahead of this host's clock, for a longer block.
const MOST_AHEAD: u64 = 100_000;

/// The distance between an acquisition's lowest number and the highest count of an earlier one, if all clocks are equal.
/// The next number after a lost counter is above all earlier ones only after this time.
pub(crate) const BLOCK_SLACK: Duration = Duration::from_micros(MOST_AHEAD + MOST_NUMBERS);

/// Returns the least value of an acquisition's counters: the time in µs since 1970 by this host's clock, or `wanted` if
/// that is a little later.
pub(crate) fn hint(clock: &dyn Clock, wanted: u64) -> u64 {
    let time = u64::try_from(clock.wall().as_micros()).unwrap_or(u64::MAX);
    time.max(wanted.min(time.saturating_add(MOST_AHEAD)))
}

/// The numbers of one acquisition. The leases that hold its claim one after another use one number each, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenBlock {
    first: u64,
    /// The number of the present lease.
    token: u64,
    /// The number of the majority's counters. All numbers of the block are below it, except for a reader's.
    pub(crate) count: u64,
}

impl TokenBlock {
    fn new(first: u64, count: u64) -> Self {
        // A lost counter says nothing of earlier numbers, so keep the numbers close to the count.
        let first = first.max(count.saturating_sub(MOST_NUMBERS));
        Self {
            first,
            token: first,
            count,
        }
    }

    /// Returns the token of the present lease.
    pub(crate) fn token(self) -> FencingToken {
        FencingToken::new(self.token)
    }

    /// Returns the block for the lease that takes the claim over. Returns `None` once all numbers are used.
    pub(crate) fn next(self) -> Option<Self> {
        let token = self.token + 1;
        (token < self.count).then_some(Self { token, ..self })
    }

    /// Returns the least count of an acquisition that replaces this one, to get a longer block if this one is used up.
    /// Otherwise returns zero.
    pub(crate) fn next_count(self) -> u64 {
        if self.next().is_some() {
            return 0;
        }
        let used = self.count.saturating_sub(self.first);
        self.count + 1 + MOST_NUMBERS.min(GROWTH * used)
    }
}

/// The numbers that follow from the counters of a majority.
pub(crate) struct TokenChoice {
    /// The block of the acquisition, once the counters of the majority are raised to its count.
    pub(crate) block: TokenBlock,
    /// The seats of the majority whose counters are below that count. These counters have to be raised to it while our
    /// key is still there, before the lock counts as held.
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
        grants.sort_unstable_by_key(|(counter, seat)| Reverse((counter.count, *seat)));
        let count_of = |grant: Option<&(Counter, usize)>| grant.map(|(counter, _)| counter.count);
        let agreed = grants
            .windows(needed)
            .find(|window| count_of(window.first()) == count_of(window.last()));
        let chosen = agreed.or_else(|| grants.get(..needed))?;
        let count = count_of(chosen.first())?;
        let first = chosen.iter().map(|(counter, _)| counter.first).max()?;
        let below = chosen.iter().filter(|(counter, _)| counter.count < count);
        Some(Self {
            block: TokenBlock::new(first, count),
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
        let votes = counters.map(|count| count.map(|count| granted(count - 1, count)));
        TokenChoice::of(&votes).map(|choice| (choice.block.count, choice.below))
    }

    fn granted(first: u64, count: u64) -> Vote {
        Vote::granted(Some(Counter { count, first }), None)
    }

    /// Returns the numbers of the block that nodes give which granted from `first` to below `count`.
    fn numbers<const N: usize>(grants: [(u64, u64); N]) -> Vec<u64> {
        let votes = grants.map(|(first, count)| Some(granted(first, count)));
        let block = TokenChoice::of(&votes).map(|choice| choice.block);
        let all = std::iter::successors(block, |block| block.next());
        all.map(|block| block.token().as_u64()).collect()
    }

    #[test]
    fn a_block_has_what_every_node_of_the_majority_gives() {
        assert_eq!(numbers([(4, 9); 3]), [4, 5, 6, 7, 8]);
        assert_eq!(numbers([(4, 9), (7, 9)]), [7, 8]);
        assert_eq!(numbers([(6, 7), (4, 9)]), [6, 7, 8]);
        // A third node differs, and the majority that agrees is chosen.
        assert_eq!(numbers([(8, 9), (4, 7), (4, 7)]), [4, 5, 6]);
        assert_eq!(numbers([(9, 9); 3]), [9], "a reader");
    }

    #[test]
    fn a_lost_counter_gives_no_number_from_long_ago() {
        let last = 1_700_000_000_000_000;
        let block = numbers([(1, last), (1, last), (1, last)]);
        assert_eq!(block.first(), Some(&(last - MOST_NUMBERS)));
        assert_eq!(block.len(), 4000);
    }

    #[test]
    fn a_longer_block_takes_a_hint_a_little_ahead_of_the_clock() {
        let (clock, shared) = crate::env::tests::still_clock();
        clock.advance(Duration::from_secs(1));
        let now = hint(&*shared, 0);
        assert_eq!(hint(&*shared, now - 1), now);
        assert_eq!(hint(&*shared, now + 1001), now + 1001);
        assert_eq!(hint(&*shared, now * 2), now + MOST_AHEAD);
    }

    #[test]
    fn a_used_up_block_asks_for_a_longer_one() {
        let block = |first| TokenBlock {
            token: 999,
            ..TokenBlock::new(first, 1000)
        };
        let [one, more, most] = [999, 990, 1].map(|first| block(first).next_count());
        assert_eq!([one, more, most], [1017, 1161, 5001]);
        assert_eq!(TokenBlock::new(990, 1000).next_count(), 0);
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
