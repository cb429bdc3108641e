//! Budgets: the time and the number of attempts that a caller has.

use std::time::Duration;

use crate::env::{Environment, Moment};
use crate::request::{Request, RetryLimit};

/// The number of unanswered retries in a row that a caller with a time limit makes. A retry is unanswered if no
/// majority of the nodes answered it.
const UNANSWERED_RETRIES: u32 = 2;

/// The shortest pause. It leaves the thread to other tasks even if the retry delay is zero.
const SHORTEST_RETRY_PAUSE: Duration = Duration::from_millis(1);

/// The first pause of callers that split the votes. The pause doubles from one split to the next.
const FIRST_SPREAD: Duration = Duration::from_micros(500);
const MOST_DIVIDED: u32 = 6;

/// The longest pause of a caller that lets others go first although no holder excludes it.
const OTHERS_GO_FIRST: Duration = Duration::from_millis(10);

/// Bounds the time for which nodes remember that a refused caller waits.
const SHORTEST_ADVICE: Duration = Duration::from_millis(100);
const LONGEST_ADVICE: Duration = Duration::from_secs(10);

/// Bounds the time within which a called caller should ask for a free permit.
pub(crate) const SHORTEST_CALL: Duration = Duration::from_millis(100);
const LONGEST_CALL: Duration = Duration::from_secs(2);

/// Returns the time for which an attempt may wait for the nodes. The time is well below the ttl, so an attempt that
/// waits for all of it leaves time for another attempt.
pub(crate) fn attempt_time(node_timeout: Duration, ttl: Duration) -> Duration {
    node_timeout.min(ttl / 4)
}

/// The time in which the nodes may answer an attempt or a question of a break.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) started: Moment,
    pub(crate) timeout: Duration,
}

impl Window {
    /// Returns the moment until which the attempt waits for missing votes.
    pub(crate) fn end(self) -> Moment {
        self.started.saturating_add(self.timeout)
    }
}

/// The time and the attempts of a caller since its arrival. Waiting in line and pausing between attempts cost the same.
pub(crate) struct RetryBudget<'a> {
    request: &'a Request,
    node_timeout: Duration,
    pub(crate) began: Moment,
    /// The end of the caller's time. `None` if the request limits the number of retries, or sets no limit.
    pub(crate) end: Option<Moment>,
    /// The latest start of the last attempt, which must end within the caller's time.
    pub(crate) last_attempt: Option<Moment>,
    /// The number of attempts that have begun.
    pub(crate) attempts: u32,
    /// The number of pauses that have begun.
    pauses: u32,
    /// The end of the last pause.
    pause: Option<Moment>,
    /// The number of additional retries after split votes.
    pub(crate) splits: u32,
    /// The number of pauses in a row that began after an unanswered attempt.
    unanswered: u32,
    /// The number of attempts in a row that lost a free lock to split votes.
    divided: u32,
}

impl<'a> RetryBudget<'a> {
    pub(crate) fn new(
        environment: &Environment,
        request: &'a Request,
        node_timeout: Duration,
    ) -> Self {
        let began = environment.now();
        let (end, last_attempt) = match request.retry_limit {
            RetryLimit::Wait(limit) => {
                let end = began.saturating_add(limit);
                let last = end.saturating_sub(node_timeout.min(limit / 4));
                (Some(end), Some(last))
            }
            RetryLimit::Count(_) | RetryLimit::Forever => (None, None),
        };
        Self {
            request,
            node_timeout,
            began,
            end,
            last_attempt,
            attempts: 0,
            pauses: 0,
            pause: None,
            splits: 0,
            unanswered: 0,
            divided: 0,
        }
    }

    /// Returns the time since the caller arrived.
    pub(crate) fn waited(&self, environment: &Environment) -> Duration {
        environment.now().saturating_since(self.began)
    }

    /// Returns when to retry after a split vote. Split votes may retry although the retry budget is used up, because no
    /// caller holds the lock. Returns `None` if the caller has a time limit, or if no retry for splits is left.
    pub(crate) fn next_after_split(&mut self, environment: &Environment) -> Option<Moment> {
        if self.end.is_some() {
            return None;
        }
        self.splits = self.splits.checked_sub(1)?;
        let next = environment.now().saturating_add(self.draw(environment));
        self.pause = Some(next);
        self.pause
    }

    /// Counts an attempt that begins at `started`. Returns the attempt's window, which ends within the caller's time.
    pub(crate) fn begin_attempt(&mut self, started: Moment, ttl: Duration) -> Window {
        self.attempts = self.attempts.saturating_add(1);
        let timeout = attempt_time(self.node_timeout, ttl);
        let timeout = match self.end {
            Some(end) => timeout.min(end.saturating_since(started)),
            None => timeout,
        };
        Window { started, timeout }
    }

    /// Returns the end of the pause that begins `now`, or `None` if the budget is used up. An attempt after an early wake-up uses up
    /// nothing of the budget, because the pause continues. `is_unanswered` says that no majority of the nodes answered
    /// the last attempt. Then no holder is known, so a caller with a time limit has [`UNANSWERED_RETRIES`].
    pub(crate) fn next_pause(
        &mut self,
        environment: &Environment,
        now: Moment,
        is_unanswered: bool,
    ) -> Option<Moment> {
        if !is_unanswered {
            self.unanswered = 0;
        }
        if self.pause.is_some_and(|pause| pause > now) {
            return self.pause;
        }
        let pause = self.draw(environment);
        let next = now.saturating_add(pause);
        self.pause = match self.request.retry_limit {
            RetryLimit::Count(retries) if self.pauses >= retries => None,
            RetryLimit::Count(_) | RetryLimit::Forever => Some(next),
            RetryLimit::Wait(_) if self.unanswered >= UNANSWERED_RETRIES => None,
            // The last attempt has to begin early enough to end within the caller's time.
            RetryLimit::Wait(_) => self
                .last_attempt
                .filter(|last| *last > now)
                .map(|last| next.min(last)),
        };
        self.pauses = self.pauses.saturating_add(1);
        self.unanswered = self.unanswered.saturating_add(u32::from(is_unanswered));
        self.pause
    }

    /// True if a caller that gives up `now` has time left. The reason is then that no majority answered its retries.
    pub(crate) fn gives_up_early(&self, now: Moment) -> bool {
        self.unanswered > UNANSWERED_RETRIES && self.last_attempt.is_some_and(|last| now < last)
    }

    /// Returns the time for which the caller ignores wake-ups after an attempt. An attempt `is_divided` if several
    /// callers found the lock free at one moment and none won it. A random time then lets these callers ask one by one.
    pub(crate) fn spread(&mut self, environment: &Environment, is_divided: bool) -> Duration {
        if !is_divided {
            self.divided = 0;
            return Duration::ZERO;
        }
        self.divided = (self.divided + 1).min(MOST_DIVIDED);
        let spread = FIRST_SPREAD * (1 << self.divided);
        environment.jittered(spread.min(self.request.retry_delay))
    }

    /// Returns the pause of a caller that lets others go first although no holder excludes it. No node reports when the
    /// others have gone.
    pub(crate) fn spread_behind_others(&self, environment: &Environment) -> Duration {
        environment.jittered(OTHERS_GO_FIRST.min(self.request.retry_delay))
    }

    /// Returns the pause of a caller in a queue of the nodes, while a permit may be free. The first pauses are
    /// short, because either the callers ahead ask at once, or the nodes disagree about the order.
    pub(crate) fn spread_in_queue(&mut self, environment: &Environment) -> Duration {
        self.spread(environment, true).min(OTHERS_GO_FIRST)
    }

    /// Returns the time for which nodes remember a refused caller. The time is long enough for the next attempt.
    /// Returns `None` if the request allows no retry.
    pub(crate) fn advice(&self) -> Option<Duration> {
        let advice = self.request.retry_delay.saturating_mul(3);
        let advice = advice.clamp(SHORTEST_ADVICE, LONGEST_ADVICE);
        (self.request.retry_limit != RetryLimit::Count(0)).then_some(advice)
    }

    /// Returns the time that the caller has to ask for a free permit. In this time the caller hears of the release,
    /// checks the keys and asks.
    pub(crate) fn call(&self) -> Duration {
        let two_round_trips = self.node_timeout.saturating_mul(2);
        two_round_trips.clamp(SHORTEST_CALL, LONGEST_CALL)
    }

    fn draw(&self, environment: &Environment) -> Duration {
        environment
            .jittered(self.request.retry_delay)
            .max(SHORTEST_RETRY_PAUSE)
    }
}
