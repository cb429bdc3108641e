//! The share of other processes.
//!
//! A process that hands a lock over to its own callers, or asks again at once, is ahead of all
//! processes that have yet to hear of a release. It therefore has to let them in: a streak is bounded in time, and a
//! break follows. Without breaks, the worst of four processes has less than half the acquisitions of the best one, and
//! none at all where nodes are far away. A break is counted in round trips: by a timer, it left one process with a
//! third of its acquisitions.

use std::time::Duration;

use crate::env::Moment;

/// For how long callers of one process may have a lock one after another, unless configured otherwise.
pub(crate) const HANDOVER_TIME: Duration = Duration::from_millis(5);

/// The number of questions to the nodes in a break, one after the other. A caller of another process
/// has to hear of the release, to look, and to ask, which takes some round trips and the time to
/// wake up. A break is counted in round trips and not in time, so that it is as long as the network
/// makes it, and so that the caller notices when another process has come.
const BREAK: u32 = 8;
/// The number of releases for which another process is remembered.
const MEMORY: u8 = 8;
/// A streak may last this many times as long as the nodes take to grant a lock, because a break takes long if the nodes
/// are far away.
const TRIPS: u32 = 8;
/// A shorter pause between the end of a release and the next call leaves other processes no chance.
const SHORT_GAP: Duration = Duration::from_millis(10);
/// A lock that is held for less leaves other processes gaps enough, and needs no break.
const BRIEF: Duration = Duration::from_millis(1);

/// For how long callers of this process have had the lock one after another.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FairShare {
    /// The moment when the first of them got the lock.
    since: Option<Moment>,
    /// The time that the last acquisition took. A caller of another process takes as long.
    trip: Duration,
    /// The number of further releases for which another process is remembered.
    wary: u8,
    /// The questions that are left of the break that is due.
    pub(super) questions: u32,
    /// If a caller enters an empty line before this moment, the streak still binds the caller.
    until: Moment,
}

impl FairShare {
    /// A caller acquired the lock `now`. `took` is the time of its acquisition, zero if it was taken over.
    pub(super) fn holds(&mut self, now: Moment, took: Duration) {
        self.since.get_or_insert(now);
        if !took.is_zero() {
            self.trip = took;
        }
    }

    fn lasted(&self, now: Moment) -> Duration {
        let lasted = self.since.map(|since| now.saturating_since(since));
        lasted.unwrap_or_default()
    }

    /// True if other processes must have their chance now. With a `handover_time` of zero they always must.
    pub(super) fn is_spent(&self, handover_time: Duration, now: Moment) -> bool {
        handover_time.is_zero()
            || self.lasted(now) >= handover_time.max(self.trip.saturating_mul(TRIPS))
    }

    /// Another process had the lock.
    pub(super) fn met_others(&mut self) {
        self.since = None;
        self.wary = MEMORY;
    }

    /// The lock is released `now`. The next caller takes a break first if callers wait, if another process was met a
    /// moment ago, or if the streak is spent. A shorter `handover_time` than the default limits only hand-overs.
    pub(super) fn ends(&mut self, is_followed: bool, handover_time: Duration, now: Moment) {
        if self.wary > 0 || self.lasted(now) >= BRIEF {
            // The release has to arrive first, and other processes have to hear of it.
            self.until = now.saturating_add(SHORT_GAP + self.trip);
        }
        if is_followed || self.wary > 0 || self.is_spent(handover_time.max(HANDOVER_TIME), now) {
            self.questions = BREAK;
            self.since = None;
            self.wary = self.wary.saturating_sub(1);
        }
    }

    /// True if the streak does not bind a caller that enters an empty line `now`.
    pub(super) fn is_forgotten(&self, now: Moment) -> bool {
        self.until <= now
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u32) -> Moment {
        Moment::from_origin(MS * (1000 + ms))
    }

    #[test]
    fn a_streak_is_spent_after_its_time_or_after_some_round_trips() {
        let mut streak = FairShare::default();
        streak.holds(at(0), Duration::ZERO);
        streak.holds(at(4), Duration::ZERO);
        assert!(!streak.is_spent(MS * 5, at(4)));
        assert!(
            streak.is_spent(MS * 5, at(5)),
            "the first holder's time counts"
        );
        streak.holds(at(5), MS * 10);
        assert!(!streak.is_spent(MS * 5, at(79)));
        assert!(streak.is_spent(MS * 5, at(80)));
        streak.ends(true, MS * 5, at(80));
        assert_eq!(streak.questions, BREAK);
        assert!(!streak.is_spent(MS * 5, at(100)));
    }

    #[test]
    fn one_who_comes_again_at_once_takes_a_break_where_a_line_would() {
        for (lasted, is_remembered, questions) in [(0, false, 0), (2, true, 0), (5, true, BREAK)] {
            let mut streak = FairShare::default();
            streak.holds(at(0), Duration::ZERO);
            streak.ends(false, MS * 5, at(lasted));
            assert_eq!(!streak.is_forgotten(at(lasted)), is_remembered, "{lasted}");
            assert_eq!(streak.questions, questions, "{lasted}");
        }
    }

    #[test]
    fn another_process_that_was_met_has_a_break_after_brief_holds() {
        let mut streak = FairShare::default();
        streak.met_others();
        for questions in [BREAK; MEMORY as usize].into_iter().chain([0]) {
            streak.questions = 0;
            streak.holds(at(0), Duration::ZERO);
            streak.ends(false, MS * 5, at(0));
            assert_eq!(streak.questions, questions);
        }
    }

    #[test]
    fn a_gap_begins_when_the_release_has_arrived() {
        let mut streak = FairShare::default();
        streak.holds(at(0), MS * 25);
        streak.holds(at(1), Duration::ZERO);
        streak.ends(false, MS * 5, at(2));
        assert!(!streak.is_forgotten(at(36)) && streak.is_forgotten(at(37)));
    }
}
