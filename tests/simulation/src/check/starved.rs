//! The rule that a process which waits for a permit is not passed over again and again.

use std::collections::BTreeMap;
use std::time::Duration;

use redlock_core::Resource;
use redlock_core::quorum::majority;

use super::Broken;
use crate::history::{History, Inner, Invariant, LeaseRecord, Served, is_granted};
use crate::world::{CallId, ProcessId};

/// The time in which a caller comes for a permit that is free: half of the time for which a node keeps it for the
/// caller.
const AT_HAND: Duration = Duration::from_millis(50);

/// The unbroken wait of a caller that asks the nodes for a permit.
#[derive(Default)]
pub(crate) struct Wait {
    /// When the caller knew that a majority of the nodes had refused it.
    since: Option<Duration>,
    /// When each node last refused it, by seat.
    refused_at: BTreeMap<usize, Duration>,
    /// The other processes that have passed it over since.
    passed_by: BTreeMap<ProcessId, Passed>,
}

/// The times that a process has passed over a caller.
#[derive(Default)]
struct Passed {
    streaks: usize,
    /// When the last streak began.
    began: Duration,
    /// When the last streak is spent.
    spent: Duration,
}

impl Passed {
    /// Counts a lease that was got `now`. A streak may last for `longest`. `attempts` says when those of the process
    /// began, up to the one that won: a release in a streak lets the next attempt go ahead, however late it begins.
    fn count(&mut self, attempts: &[Duration], now: Duration, longest: Duration) {
        let later = attempts.iter().filter(|began| **began > self.spent);
        if self.streaks == 0 || later.count() > 1 {
            self.streaks += 1;
            self.began = now;
        }
        self.spent = self.spent.max(self.began + longest);
    }
}

impl Wait {
    /// True if the caller has not come to the node at `seat`, where a permit is free.
    fn is_away(&self, seat: usize, free_since: Option<Duration>, now: Duration) -> bool {
        let came_at = self.refused_at.get(&seat).copied().or(self.since);
        let called_at = came_at.zip(free_since).map(|(came, free)| came.max(free));
        called_at.is_some_and(|called_at| now.saturating_sub(called_at) > AT_HAND)
    }
}

impl History {
    /// A node served an attempt at one of several permits. A grant ends the waits of its process, which was served. A
    /// caller of another process for which a permit was free is not at hand if it has not come by now.
    pub(crate) fn note_permit_asked(&self, inner: &mut Inner, served: &Served<'_>) {
        let token = served.operation.token().as_bytes();
        let Some(attempt) = inner.number_of(token) else {
            return;
        };
        let Some(call) = inner.attempts[attempt].call else {
            return;
        };
        let (now, seat) = (self.world.now(), served.seat);
        let (process, resource) = inner.calls[call].line.clone();
        let is_granted = is_granted(served.answer);
        let leaves_none = served.after.iter().all(Option::is_some);
        inner.attempts[attempt].took_last |= u64::from(is_granted && leaves_none) << seat;
        for (waiting, other) in inner.waiting_for(&resource) {
            let wait = &mut inner.calls[waiting].wait;
            if waiting == call && !is_granted {
                wait.refused_at.insert(seat, now);
            } else if other == process && is_granted || wait.is_away(seat, served.free_since, now) {
                *wait = Wait::default();
            }
        }
    }

    /// Lease `new` passes over each caller of another process that waited when its attempt began, unless a permit was
    /// left for that caller.
    ///
    /// A node lets a process go ahead of a caller that waits there until it has served the process once since. So each
    /// streak of one process uses up a node of the majority that refused the caller.
    pub(super) fn check_starved(&self, inner: &mut Inner, new: &LeaseRecord, broken: &mut Broken) {
        let (process, resource) = inner.calls[new.call].line.clone();
        let winner = &inner.attempts[new.attempt];
        let (staked_at, id) = (winner.staked_at, winner.short_id.clone());
        let needed = majority(self.rules.nodes);
        let has_taken_last = usize::try_from(winner.took_last.count_ones()).unwrap_or(0) >= needed;
        if new.permit.is_none() || !has_taken_last {
            return;
        }
        let longest = self.rules.longest_streak(new.chain.trip);
        let own = (inner.attempts.iter())
            .filter(|other| other.process == process && other.permits == winner.permits);
        let attempts: Vec<_> = own
            .map(|own| own.staked_at)
            .filter(|at| *at <= staked_at)
            .collect();
        for (waiting, other) in inner.waiting_for(&resource) {
            if other == process {
                continue;
            }
            if !self.is_awake(inner, waiting) {
                inner.calls[waiting].wait = Wait::default();
            }
            let wait = &mut inner.calls[waiting].wait;
            let Some(since) = wait.since.filter(|since| *since < staked_at) else {
                continue;
            };
            let passed = wait.passed_by.entry(process).or_default();
            passed.count(&attempts, new.returned_at, longest);
            inner.coverage.passed_over += 1;
            if passed.streaks > needed {
                let text = format!(
                    "call {waiting} of c{other} waits since {since:?}, and c{process} passed it over {} times, as {id}",
                    passed.streaks
                );
                broken.push((Invariant::Starved, text));
            }
        }
    }
}

impl Inner {
    /// `call` knows that a majority of the nodes has refused its attempt.
    pub(crate) fn begin_wait(&mut self, call: CallId, nodes: usize, now: Duration) {
        let wait = &mut self.calls[call].wait;
        if wait.refused_at.len() >= majority(nodes) {
            wait.since.get_or_insert(now);
        }
    }

    /// Returns the callers that wait for `resource`, each with its process.
    fn waiting_for(&self, resource: &Resource) -> Vec<(CallId, ProcessId)> {
        let lines = self.queues.iter().filter(|(id, _)| id.1 == *resource);
        let calls = lines.flat_map(|(id, line)| line.waiting.iter().map(|call| (*call, id.0)));
        calls.collect()
    }
}
