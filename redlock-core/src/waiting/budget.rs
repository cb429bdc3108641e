//! The time and the number of attempts that a caller has.

use std::time::Duration;

use crate::env::{Environment, Moment};
use crate::request::{Request, RetryLimit};

/// The number of retries in a row that no majority may answer while a caller waits for a time.
const UNANSWERED_RETRIES: u32 = 2;

/// The shortest pause, so that a retry delay of zero leaves the thread to other tasks.
const SHORTEST_RETRY_PAUSE: Duration = Duration::from_millis(1);

/// The first pause of callers that split the votes. It doubles from one split to the next.
const FIRST_SPREAD: Duration = Duration::from_micros(500);
const MOST_DIVIDED: u32 = 6;

/// The longest pause of a caller that no holder excludes.
const OTHERS_GO_FIRST: Duration = Duration::from_millis(10);

/// Bounds the time for which nodes remember that a refused caller waits.
const SHORTEST_ADVICE: Duration = Duration::from_millis(100);
const LONGEST_ADVICE: Duration = Duration::from_secs(10);

/// Bounds the time that nodes give a caller to come.
pub(crate) const SHORTEST_CALL: Duration = Duration::from_millis(100);
const LONGEST_CALL: Duration = Duration::from_secs(2);

/// Returns the time for which an attempt may wait for the nodes. It is well below the ttl, so that an attempt that
/// waited it out leaves time for another.
pub(crate) fn attempt_time(node_timeout: Duration, ttl: Duration) -> Duration {
    node_timeout.min(ttl / 4)
}

/// The time that an attempt, or a question of a break, gives the nodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub(crate) started: Moment,
    pub(crate) timeout: Duration,
}

impl Window {
    /// Returns the moment until which a missing vote is waited for.
    pub(crate) fn end(self) -> Moment {
        self.started.saturating_add(self.timeout)
    }
}

/// The time and the attempts of a caller, from its arrival on. Its time counts the same in line as between attempts.
pub(crate) struct RetryBudget<'a> {
    request: &'a Request,
    node_timeout: Duration,
    pub(crate) began: Moment,
    /// The end of the caller's time, if its time as a whole is bounded.
    pub(crate) end: Option<Moment>,
    /// The latest beginning of the last attempt, so that it ends with the caller's time.
    pub(crate) last_attempt: Option<Moment>,
    /// The attempts that were begun.
    pub(crate) attempts: u32,
    /// The pauses that were begun.
    pauses: u32,
    /// When the last pause ends.
    pause: Option<Moment>,
    /// The number of additional retries for attempts that no caller won.
    pub(crate) splits: u32,
    /// The pauses in a row that were begun while no majority of the nodes answered.
    unanswered: u32,
    /// The attempts in a row that found the lock free and were spoilt by other callers.
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

    /// Returns the time since the caller came.
    pub(crate) fn waited(&self, environment: &Environment) -> Duration {
        environment.now().saturating_since(self.began)
    }

    /// Returns the beginning of the next attempt after a split, in which no caller won, although the budget of
    /// retries is used up. `None` if the caller's time is bounded and leaves none for it.
    pub(crate) fn next_after_split(&mut self, environment: &Environment) -> Option<Moment> {
        if self.end.is_some() {
            return None;
        }
        self.splits = self.splits.checked_sub(1)?;
        let next = environment.now().saturating_add(self.draw(environment));
        self.pause = Some(next);
        self.pause
    }

    /// Counts an attempt that begins at `started`. Returns its time, which ends with the caller's own.
    pub(crate) fn begin_attempt(&mut self, started: Moment, ttl: Duration) -> Window {
        self.attempts = self.attempts.saturating_add(1);
        let timeout = attempt_time(self.node_timeout, ttl);
        let timeout = match self.end {
            Some(end) => timeout.min(end.saturating_since(started)),
            None => timeout,
        };
        Window { started, timeout }
    }

    /// Returns the end of the next pause, or `None` if the budget is used up. An attempt that began
    /// earlier, because the caller was woken, costs nothing: the pause continues. `is_unanswered` says that
    /// no majority of the nodes answered the last attempt. Then no holder is known, and a
    /// caller that waits for a time has [`UNANSWERED_RETRIES`].
    pub(crate) fn next_pause(
        &mut self,
        environment: &Environment,
        is_unanswered: bool,
    ) -> Option<Moment> {
        let now = environment.now();
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
            // The last attempt may have to begin early.
            RetryLimit::Wait(_) => self
                .last_attempt
                .filter(|last| *last > now)
                .map(|last| next.min(last)),
        };
        self.pauses = self.pauses.saturating_add(1);
        self.unanswered = self.unanswered.saturating_add(u32::from(is_unanswered));
        self.pause
    }

    /// True if a caller that gives up `now` has time left. Then no majority answered its retries.
    pub(crate) fn gives_up_early(&self, now: Moment) -> bool {
        self.unanswered > UNANSWERED_RETRIES && self.last_attempt.is_some_and(|last| now < last)
    }

    /// Returns the time for which a wake-up is ignored after an attempt. If several callers found the lock free at one
    /// moment and none won it, the attempt `is_divided`, and they come again one by one.
    pub(crate) fn spread(&mut self, environment: &Environment, is_divided: bool) -> Duration {
        if !is_divided {
            self.divided = 0;
            return Duration::ZERO;
        }
        self.divided = (self.divided + 1).min(MOST_DIVIDED);
        let spread = FIRST_SPREAD * (1 << self.divided);
        environment.jittered(spread.min(self.request.retry_delay))
    }

    /// Returns the pause of a caller that no holder excludes, but that others precede: no node tells when they have gone.
    pub(crate) fn spread_behind_others(&self, environment: &Environment) -> Duration {
        environment.jittered(OTHERS_GO_FIRST.min(self.request.retry_delay))
    }

    /// Returns the pause of a caller for which a permit may be free, but that others precede at a node. It begins short,
    /// because the others come at once or the nodes disagree who is first.
    pub(crate) fn spread_in_queue(&mut self, environment: &Environment) -> Duration {
        self.spread(environment, true).min(OTHERS_GO_FIRST)
    }

    /// Returns the time for which nodes remember that the caller was refused: until its next attempt. `None` if no attempt
    /// follows.
    pub(crate) fn advice(&self) -> Option<Duration> {
        let advice = self.request.retry_delay.saturating_mul(3);
        let advice = advice.clamp(SHORTEST_ADVICE, LONGEST_ADVICE);
        (self.request.retry_limit != RetryLimit::Count(0)).then_some(advice)
    }

    /// Returns the time that nodes give the caller to come once a permit is free for it: to hear of the release, to look
    /// and to ask.
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
