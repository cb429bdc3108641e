//! Fair shares: callers of this process leave part of a lock's time to other processes.
//!
//! A process that hands a lock over to its own callers, or asks again at once, is ahead of all processes that have yet
//! to hear of a release. Such a process has to let others in: a streak is bounded in time, and a break follows. Without
//! breaks, the worst of four processes has less than half the acquisitions of the best one, or none at all if the nodes
//! are far away. A break is counted in round trips, so its length follows the network. Breaks bounded by a timer left
//! one process with a third of its acquisitions.

use std::time::Duration;

use crate::env::Moment;
use crate::env::timeout::before;
use crate::kinds::any_kind;
use crate::quorum::round::{Goal, Round};

use super::budget::Window;
use super::refused_attempt::{RefusedAttempt, SoughtLock};
use super::rivals::Rivals;
use super::turn::Turn;

/// The default time for which a lock may stay among callers of one process.
pub(crate) const HANDOVER_TIME: Duration = Duration::from_millis(5);

/// The number of questions to the nodes in a break, one after the other. A caller of another process needs some round
/// trips to hear of the release, to check the key and to ask for the lock, and some time to wake up. Each answer also
/// shows whether another process has come.
pub(super) const BREAK: u32 = 8;
/// The number of releases for which this process remembers that it met another one.
const MEMORY: u8 = 8;
/// The number of round trips for which a streak may last in any case. A break takes long if the nodes are far away, so
/// the streak before it may take long too.
const TRIPS: u32 = 8;
/// The gap after a release in which the next caller still belongs to the streak.
const SHORT_GAP: Duration = Duration::from_millis(10);
/// A streak shorter than this needs no break, because it leaves other processes enough gaps. A break still follows if
/// callers wait, or if this process remembers that it met another one.
const BRIEF: Duration = Duration::from_millis(1);

/// Decides when callers of this process must let other processes have the lock.
#[derive(Debug, Default)]
pub(super) struct FairShare {
    /// The time for which a streak may last if the nodes are near.
    handover_time: Duration,
    /// The moment when the first caller of the streak got the lock.
    began: Option<Moment>,
    /// The time that the nodes took to grant the lock. A caller of another process waits for the nodes about as long.
    grant_time: Duration,
    /// The number of further releases for which this process remembers that it met another one.
    remembers_others: u8,
    /// The number of questions of the break that have yet to be asked.
    pub(super) questions_due: u32,
    /// The end of the gap after a release. A caller that enters an empty line before this moment belongs to the streak.
    binds_until: Moment,
    pub(super) rivals: Rivals,
}

impl FairShare {
    pub(super) fn new(handover_time: Duration) -> Self {
        Self {
            handover_time,
            ..Self::default()
        }
    }

    /// Records that a caller acquired the lock `now`. `took` is the duration of the acquisition, or zero for a caller
    /// that took the lock over.
    pub(super) fn record_acquired(&mut self, now: Moment, took: Duration) {
        self.began.get_or_insert(now);
        self.rivals.record_own();
        if !took.is_zero() {
            self.grant_time = took;
        }
    }

    /// Records that another process had the lock.
    pub(super) fn record_others(&mut self) {
        self.began = None;
        self.remembers_others = MEMORY;
    }

    /// Returns the time for which this process lets others go first on a free lock. Each process that was served longer
    /// ago gets the time that the nodes took to grant the lock.
    pub(super) fn defer(&mut self) -> Duration {
        let rivals = u32::try_from(self.rivals.defer()).unwrap_or(0);
        self.grant_time.saturating_mul(rivals)
    }

    /// True if a holder may hand the lock over to the next waiter. A `handover_time` of zero forbids it.
    pub(super) fn may_hand_over(&self, is_followed: bool, now: Moment) -> bool {
        let is_spent = self.handover_time.is_zero() || self.is_spent(self.handover_time, now);
        is_followed && !is_spent
    }

    /// True if the streak may continue with a permit that is released `now`.
    pub(super) fn may_continue(&self, now: Moment) -> bool {
        self.began.is_some() && self.may_hand_over(true, now)
    }

    /// Returns the moment until which the next caller waits for the release of a permit that was acquired `now`. The
    /// wait is short, because the permit may be held for longer and the caller is in no queue.
    pub(super) fn quiet_until(&self, now: Moment) -> Moment {
        let began = self.began.unwrap_or(now);
        let end = began.saturating_add(self.longest(self.handover_time));
        end.min(now.saturating_add(HANDOVER_TIME))
    }

    /// Records that the lock is released `now`. The next caller takes a break first if callers wait, if this process
    /// remembers that it met another one, or if the streak is spent. For a caller that asks again at once, a streak
    /// lasts for [`HANDOVER_TIME`] at least.
    pub(super) fn record_release(&mut self, is_followed: bool, now: Moment) {
        let meets_others = self.remembers_others > 0;
        if meets_others || self.lasted(now) >= BRIEF {
            // The gap begins once the release has arrived. Other processes hear of it only then.
            self.binds_until = now.saturating_add(SHORT_GAP + self.grant_time);
        }
        let longest_streak = self.handover_time.max(HANDOVER_TIME);
        if is_followed || meets_others || self.is_spent(longest_streak, now) {
            self.questions_due = BREAK;
            self.began = None;
            self.remembers_others = self.remembers_others.saturating_sub(1);
        }
    }

    /// True if a caller that enters an empty line `now` begins a new streak.
    pub(super) fn is_over(&self, now: Moment) -> bool {
        self.binds_until <= now
    }

    /// Forgets the streak and the other processes.
    pub(super) fn forget(&mut self) {
        *self = Self::new(self.handover_time);
    }

    fn lasted(&self, now: Moment) -> Duration {
        let lasted = self.began.map(|began| now.saturating_since(began));
        lasted.unwrap_or_default()
    }

    /// True if the streak has lasted for `handover_time` and for [`TRIPS`] round trips.
    fn is_spent(&self, handover_time: Duration, now: Moment) -> bool {
        self.lasted(now) >= self.longest(handover_time)
    }

    fn longest(&self, handover_time: Duration) -> Duration {
        handover_time.max(self.grant_time.saturating_mul(TRIPS))
    }
}

/// Takes the break that is due, in which other processes may get the lock. The break asks the nodes several times in a
/// row whether another process has come, within the time of an attempt. If one has come, returns the answers of the
/// nodes, and the caller waits like a caller that was refused. The break ends early enough for an attempt that begins
/// at `last_attempt`.
pub(crate) async fn let_others_go_first(
    turn: &Turn,
    lock: &SoughtLock,
    last_attempt: Option<Moment>,
) -> Option<RefusedAttempt> {
    let (clock, node_timeout) = (lock.context.clock(), lock.context.node_timeout);
    let end = clock.now().saturating_add(node_timeout);
    let end = last_attempt.map_or(end, |last| end.min(last));
    let question = any_kind::peek(lock.protocol.line_keys());
    let mut other_process = None;
    for due in (1..=turn.questions_due()).rev() {
        let started = clock.now();
        let timeout = end.saturating_since(started);
        if timeout.is_zero() {
            break;
        }
        turn.set_questions_due(due, timeout);
        let votes = Round::start(&lock.nodes, question.clone(), Goal::MajorityAnswered);
        before(clock, end, votes.decided()).await;
        let tally = votes.tally();
        if tally.is_contended() {
            other_process = Some(RefusedAttempt {
                lock: lock.clone(),
                votes,
                window: Window { started, timeout },
                release: None,
                defect: None,
            });
        }
        if other_process.is_some() || !tally.has_majority_answered() {
            break;
        }
    }
    turn.set_questions_due(0, node_timeout);
    other_process
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn at(ms: u32) -> Moment {
        Moment::from_origin(MS * (1000 + ms))
    }

    fn share() -> FairShare {
        FairShare::new(HANDOVER_TIME)
    }

    #[test]
    fn a_streak_is_spent_after_its_time_or_after_some_round_trips() {
        let mut share = share();
        share.record_acquired(at(0), Duration::ZERO);
        share.record_acquired(at(4), Duration::ZERO);
        assert!(share.may_hand_over(true, at(4)));
        assert!(!share.may_hand_over(false, at(4)), "to nobody");
        let is_spent = !share.may_hand_over(true, at(5));
        assert!(is_spent, "the first holder's time counts");
        share.record_acquired(at(5), MS * 10);
        assert!(share.may_hand_over(true, at(79)));
        assert!(!share.may_hand_over(true, at(80)));
        share.record_release(true, at(80));
        assert_eq!(share.questions_due, BREAK);
        assert!(share.may_hand_over(true, at(100)));
    }

    #[test]
    fn one_who_comes_again_at_once_takes_a_break_where_a_line_would() {
        for (lasted, is_remembered, questions) in [(0, false, 0), (2, true, 0), (5, true, BREAK)] {
            let mut share = share();
            share.record_acquired(at(0), Duration::ZERO);
            share.record_release(false, at(lasted));
            assert_eq!(!share.is_over(at(lasted)), is_remembered, "{lasted}");
            assert_eq!(share.questions_due, questions, "{lasted}");
        }
    }

    #[test]
    fn another_process_that_was_met_has_a_break_after_brief_holds() {
        let mut share = share();
        share.record_others();
        for questions in [BREAK; MEMORY as usize].into_iter().chain([0]) {
            share.questions_due = 0;
            share.record_acquired(at(0), Duration::ZERO);
            share.record_release(false, at(0));
            assert_eq!(share.questions_due, questions);
        }
    }

    #[test]
    fn a_gap_begins_when_the_release_has_arrived() {
        let mut share = share();
        share.record_acquired(at(0), MS * 25);
        share.record_acquired(at(1), Duration::ZERO);
        share.record_release(false, at(2));
        assert!(!share.is_over(at(36)) && share.is_over(at(37)));
    }
}
