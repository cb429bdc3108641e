//! The share of other processes.
//!
//! A process that hands a lock over to its own callers, or asks again at once, is ahead of all
//! processes that have to be told first. It therefore has to let them in. The value of each part was
//! measured by leaving it out. The figures are the share of the worst of four processes by that of the
//! best one, with 250 callers each: 0.89 with all parts, and 0.81 if the lock is held for 1 ms, or if
//! nodes are 12 ms away.
//!
//! * *Breaks*: 0.40 without them, and 0.00 in the two other cases. A process that is alone has 0.66 of the
//!   acquisitions with them.
//! * *Round trips* and no timer: breaks by a timer left one process with 0.32 of its acquisitions.
//! * *Short breaks* where no rival is known: with whole ones only, one process has 0.59 of its acquisitions.
//! * *The memory of rivals* makes up for short breaks: 0.28 without it where the lock is held for 1 ms, and
//!   0.55 where nodes are 12 ms away.
//! * *The rotation*: the process that had the lock longest ago goes first. 0.70 without it if the lock is
//!   held for 1 ms.
//! * *The bound in number*: 0.63 without it, as series of 50 ms take long to even out. *The bound in time* shows
//!   only where a lock is held for longer than a millisecond: 32 holders of 20 ms each would be 0.6 s.

use std::hash::{DefaultHasher, Hasher};
use std::num::NonZeroU16;
use std::time::Duration;

use crate::env::Moment;

use super::handover::Handover;

/// The number of questions to the nodes in a break, one after the other. A caller of another process
/// has to be told of the release, to look, and to ask, which takes some round trips and the time to
/// wake up. A break is counted in round trips and not in time, so that it is as long as the network
/// makes it, and so that the caller notices when another process has come.
const WHOLE_BREAK: u32 = 8;
/// The number of questions in a short break. If no rival was seen for a while, most breaks are short: too
/// short for a rival to come.
const SHORT_BREAK: u32 = 1;
/// If no rival was seen for a while, one break in this number is a whole one.
const BREAKS: u8 = 4;
/// The number of breaks for which a rival is remembered.
const MEMORY: u8 = 8;

/// Length, in questions, of the break for each process that had the lock longer ago than this one. Such a
/// process is told of a release at the same moment, and asks first within this break.
const QUESTIONS_A_RIVAL: u32 = 3;
/// Number of other processes that are told apart.
const MOST_KNOWN: usize = 7;

/// A shorter pause between the end of a release and the next call leaves other processes no chance.
const SHORT_GAP: Duration = Duration::from_millis(10);
/// A lock that is held for less leaves other processes gaps enough, and needs no break.
const BRIEF: Duration = Duration::from_millis(1);

/// What a line knows of the hand-overs within this process, and of rivals in other processes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fairness {
    /// The moment when the first caller of the series got the lock.
    since: Option<Moment>,
    /// The number of hand-overs.
    handed_over: u32,
    /// The number of further breaks for which rivals are remembered.
    rivals: u8,
    /// The number of breaks, up to the most that matters.
    breaks: u8,
    /// How often the lock was seen to come free since a caller of this process had it, if one ever had.
    passed: Option<u8>,
    /// Marks of the processes that refusals named as holders; zero is an empty place.
    known: [u16; MOST_KNOWN],
    /// Time that the last acquisition took, in ms. A caller of another process takes as long.
    trip: u16,
}

/// A short hash of `owner`. Two owners share one in 1 of 65 536 cases, and count as one process then.
pub(super) fn mark(owner: &str) -> NonZeroU16 {
    let mut hasher = DefaultHasher::new();
    hasher.write(owner.as_bytes());
    let [low, high, ..] = hasher.finish().to_le_bytes();
    NonZeroU16::new(u16::from_le_bytes([low, high])).unwrap_or(NonZeroU16::MIN)
}

impl Fairness {
    /// A caller acquired the lock `now`. `took` is the time of its acquisition, zero for a hand-over.
    pub(super) fn holds(&mut self, now: Moment, took: Duration) {
        if self.since.is_none() {
            self.since = Some(now);
            self.passed = Some(0);
        }
        if !took.is_zero() {
            let ms = took.as_micros().div_ceil(1000);
            self.trip = u16::try_from(ms).unwrap_or(u16::MAX);
        }
    }

    /// The shortest pause, from the sending of a release, that leaves other processes a chance. The
    /// release has to arrive first, and other processes have to be told.
    pub(super) fn short_gap(&self) -> Duration {
        SHORT_GAP + Duration::from_millis(self.trip.into())
    }

    fn lasted(&self, now: Moment) -> Duration {
        let lasted = self.since.map(|since| now.saturating_since(since));
        lasted.unwrap_or_default()
    }

    /// True if other processes must have their chance now.
    pub(super) fn must_yield(&self, limits: &Handover, now: Moment) -> bool {
        self.handed_over >= limits.most || self.lasted(now) >= limits.longest
    }

    /// This state with one more hand-over.
    pub(super) fn with_hand_over(self) -> Self {
        Self {
            handed_over: self.handed_over.saturating_add(1),
            ..self
        }
    }

    /// Begins a new run: other processes have their chance, or had it. The memory of rivals stays.
    pub(super) fn reset(self) -> Self {
        Self {
            since: None,
            handed_over: 0,
            ..self
        }
    }

    /// Another process had the lock. `who` is its mark, if known.
    pub(super) fn met_rivals(&mut self, who: Option<NonZeroU16>) {
        *self = self.reset();
        self.rivals = MEMORY;
        if let Some(who) = who
            && !self.known.contains(&who.get())
        {
            self.known.rotate_right(1);
            self.known[0] = who.get();
        }
    }

    /// Counts a release by another process. Returns the length of the break, in questions, that this
    /// process takes before its attempt: those processes go first that had the lock longer ago.
    pub(super) fn comes_free(&mut self) -> u32 {
        let Some(passed) = &mut self.passed else {
            return 0;
        };
        *passed = passed.saturating_add(1);
        let known = self.known.iter().filter(|mark| **mark != 0).count();
        let ahead = known.saturating_sub((*passed).into());
        QUESTIONS_A_RIVAL * u32::try_from(ahead).unwrap_or(0)
    }

    /// The lock was free for a whole break, and no other process took it.
    pub(super) fn nobody_came(&mut self) {
        self.known = [0; MOST_KNOWN];
    }

    /// A break for other processes, before the next caller of this process asks: its length, and the
    /// state after it.
    pub(super) fn takes_break(self) -> (u32, Self) {
        let is_whole = self.rivals > 0 || self.breaks + 1 == BREAKS;
        let rounds = if is_whole { WHOLE_BREAK } else { SHORT_BREAK };
        let next = Self {
            rivals: self.rivals.saturating_sub(1),
            breaks: (self.breaks + 1) % BREAKS,
            ..self.reset()
        };
        (rounds, next)
    }

    /// The lock is released and the line is empty. Returns the break for a caller that comes at once,
    /// and the state after it. `None` if neither has to be remembered.
    pub(super) fn is_alone(self, limits: &Handover, now: Moment) -> Option<(u32, Self)> {
        // A shorter time than usual is about hand-overs.
        let longest = limits.longest.max(Handover::default().longest);
        if self.rivals > 0 || self.lasted(now) >= longest {
            return Some(self.takes_break());
        }
        (self.lasted(now) >= BRIEF).then_some((0, self))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u32) -> Moment {
        Moment::from_origin(MS * (1000 + ms))
    }

    fn held_since(ms: u32) -> Fairness {
        let mut fairness = Fairness::default();
        fairness.holds(at(ms), Duration::ZERO);
        fairness
    }

    #[test]
    fn it_is_over_after_so_many_hand_overs_or_so_much_time() {
        let limits = Handover::default();
        let mut fairness = held_since(0);
        for _ in 0..limits.most {
            assert!(!fairness.must_yield(&limits, at(49)));
            fairness = fairness.with_hand_over();
            // The time of the first one counts.
            fairness.holds(at(49), Duration::ZERO);
        }
        assert!(fairness.must_yield(&limits, at(1)));
        assert!(held_since(0).must_yield(&limits, at(50)));
        assert!(!fairness.reset().must_yield(&limits, at(100)));
    }

    #[test]
    fn in_a_line_each_fourth_break_is_a_whole_one_and_all_are_once_rivals_were_seen() {
        let mut fairness = Fairness::default();
        let breaks = |fairness: &mut Fairness, count: usize| -> Vec<u32> {
            let mut take = || {
                let (rounds, next) = fairness.takes_break();
                *fairness = next;
                rounds
            };
            (0..count).map(|_| take()).collect()
        };
        assert_eq!(breaks(&mut fairness, 8), [1, 1, 1, 8, 1, 1, 1, 8]);
        fairness.met_rivals(None);
        assert_eq!(breaks(&mut fairness, 8), [8; 8]);
        assert_eq!(breaks(&mut fairness, 4), [1, 1, 1, 8], "forgotten");
    }

    #[test]
    fn one_who_comes_again_and_again_takes_a_break_where_a_line_would() {
        let limits = Handover::default();
        // Brief ones are not remembered.
        assert!(held_since(0).is_alone(&limits, at(0)).is_none());
        let (rounds, mut fairness) = held_since(0).is_alone(&limits, at(20)).unwrap();
        assert_eq!(rounds, 0);
        fairness.holds(at(21), Duration::ZERO);
        let (rounds, fairness) = fairness.is_alone(&limits, at(50)).unwrap();
        assert_eq!(rounds, SHORT_BREAK);
        assert!(
            fairness.is_alone(&limits, at(60)).is_none(),
            "others had theirs"
        );
    }

    #[test]
    fn rivals_that_were_seen_have_their_chance_however_briefly_the_lock_is_held() {
        let limits = Handover::default();
        let mut fairness = Fairness::default();
        fairness.met_rivals(None);
        for _ in 0..MEMORY {
            fairness.holds(at(0), Duration::ZERO);
            let (rounds, next) = fairness.is_alone(&limits, at(0)).unwrap();
            assert_eq!(rounds, WHOLE_BREAK);
            fairness = next;
        }
        fairness.holds(at(0), Duration::ZERO);
        assert!(fairness.is_alone(&limits, at(0)).is_none());
    }

    #[test]
    fn those_who_had_it_longer_ago_come_first() {
        let mut fairness = held_since(0);
        assert_eq!(fairness.comes_free(), 0, "nobody is known");
        for who in ["a/1", "b/1", "c/1", "a/1"] {
            fairness.met_rivals(Some(mark(who)));
        }
        fairness.holds(at(1), Duration::ZERO);
        // However often it is asked meanwhile.
        for _ in 0..5 {
            fairness.met_rivals(Some(mark("a/1")));
        }
        for left in (0..3).rev() {
            assert_eq!(fairness.comes_free(), left * QUESTIONS_A_RIVAL);
        }
        assert_eq!(fairness.comes_free(), 0);
        fairness.holds(at(2), Duration::ZERO);
        assert_eq!(fairness.comes_free(), 2 * QUESTIONS_A_RIVAL);
        fairness.nobody_came();
        assert_eq!(fairness.comes_free(), 0);
        for n in 0..100 {
            fairness.met_rivals(Some(mark(&format!("host/{n}"))));
        }
        fairness.holds(at(3), Duration::ZERO);
        assert!(fairness.comes_free() < 7 * QUESTIONS_A_RIVAL);
    }

    #[test]
    fn a_lull_begins_when_the_release_has_arrived() {
        let mut fairness = Fairness::default();
        assert_eq!(fairness.short_gap(), SHORT_GAP);
        fairness.holds(at(0), MS * 25);
        fairness.holds(at(1), Duration::ZERO);
        assert_eq!(fairness.short_gap(), SHORT_GAP + MS * 25);
        fairness.holds(at(2), Duration::from_secs(1000));
        assert!(fairness.short_gap() < Duration::from_secs(70));
    }
}
