//! How long a caller keeps trying, and how often.

use std::time::Duration;

use crate::environment::{Environment, Moment};
use crate::request::{Retry, RetryLimit};

/// A retry delay of zero is allowed, a loop that never lets go of the thread is not.
const SHORTEST_PAUSE: Duration = Duration::from_millis(1);

/// One caller's budget, from its first attempt on.
pub(crate) struct Patience<'a> {
    retry: &'a Retry,
    node_timeout: Duration,
    pub(crate) began: Moment,
    /// Where the caller's time is bounded as a whole.
    pub(crate) end: Option<Moment>,
    /// Those that were begun.
    pub(crate) attempts: u32,
    /// Retries that are left for attempts that nobody won.
    splits: u32,
}

impl<'a> Patience<'a> {
    pub(crate) fn new(environment: &Environment, retry: &'a Retry, node_timeout: Duration) -> Self {
        let began = environment.now();
        let end = match retry.limit {
            RetryLimit::Wait(budget) => Some(began.saturating_add(budget)),
            RetryLimit::Count(_) | RetryLimit::Forever => None,
        };
        Self {
            retry,
            node_timeout,
            began,
            end,
            attempts: 0,
            splits: 0,
        }
    }

    /// With so many retries more for attempts that nobody won.
    pub(crate) fn with_splits(self, splits: u32) -> Self {
        Self { splits, ..self }
    }

    /// Whether it matters that nobody won an attempt.
    pub(crate) fn minds_splits(&self) -> bool {
        self.splits > 0
    }

    /// When the next attempt begins behind one that nobody won, though it would be one too many
    /// otherwise.
    pub(crate) fn next_behind_a_split(&mut self, environment: &Environment) -> Option<Moment> {
        self.splits = self.splits.checked_sub(1)?;
        let pause = environment.jittered(self.retry.delay).max(SHORTEST_PAUSE);
        Some(environment.now().saturating_add(pause))
    }

    /// Counts an attempt that begins now, and says how long it may wait for the nodes: well below
    /// the ttl, so that an attempt that waited it out leaves time for another, and within the
    /// caller's own bound.
    pub(crate) fn begin_attempt(&mut self, environment: &Environment, ttl: Duration) -> Duration {
        self.attempts = self.attempts.saturating_add(1);
        let timeout = self.node_timeout.min(ttl / 4);
        match self.end {
            Some(end) => timeout.min(end.saturating_since(environment.now())),
            None => timeout,
        }
    }

    /// When the next attempt begins, or `None` where the caller has had enough.
    pub(crate) fn next_attempt(&self, environment: &Environment) -> Option<Moment> {
        let now = environment.now();
        let pause = environment.jittered(self.retry.delay).max(SHORTEST_PAUSE);
        let next = now.saturating_add(pause);
        match self.retry.limit {
            RetryLimit::Count(retries) if self.attempts > retries => None,
            RetryLimit::Count(_) | RetryLimit::Forever => Some(next),
            RetryLimit::Wait(budget) => self.end.and_then(|end| {
                // The last attempt has to be over by the end, so it may have to begin early.
                let last = end.saturating_sub(self.node_timeout.min(budget / 4));
                (last > now).then_some(next.min(last))
            }),
        }
    }
}
