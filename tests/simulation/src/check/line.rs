//! The rules about callers of one process who want the same lock: first come, first served, and
//! a caller does not keep the turn without using it.

use std::time::Duration;

use redlock_core::error::LeaseEnd;
use redlock_core::request::{Kind, RetryLimit};

use super::Broken;
use crate::history::{History, Inner, Invariant, on_clock};
use crate::profile::DEFAULT_NODE_TIMEOUT;
use crate::world::CallId;

/// The allowance for late polls and for the difference between two clocks.
const SLACK: Duration = Duration::from_millis(5);

/// The time for which a caller whose turn comes leaves the lock to other processes.
pub(crate) const LONGEST_BREAK: Duration = DEFAULT_NODE_TIMEOUT;

/// The longest time after which a caller that has the turn and is not polled loses it: the longest
/// pause between two attempts, and four times as long as an attempt.
const LOST_AFTER: Duration = Duration::from_millis(200 + 4 * 50);

impl History {
    /// `call` is given the lock. Nobody has come before it who still waits and was not given the turn,
    /// unless he did not use it.
    pub(super) fn check_order(&self, inner: &mut Inner, call: CallId, broken: &mut Broken) {
        let Some(line) = inner.queues.get(&inner.calls[call].line) else {
            return;
        };
        let came = inner.came(call);
        let mut overtaken = 0;
        for other in line.waiting.iter().copied() {
            let before = &inner.calls[other];
            let is_before = before.entered.is_some_and(|entered| entered < came);
            if other == call || !is_before || !before.attempts.is_empty() {
                continue;
            }
            if self.is_awake(inner, other) {
                let text = format!("call {call} has the lock, and call {other} came before it");
                broken.push((Invariant::Overtaken, text));
            } else {
                overtaken += 1;
            }
        }
        inner.coverage.overtaken += overtaken;
    }

    /// `call` has the turn, or gives up without. Nobody has had it for a while without use.
    pub(crate) fn check_idle(&self, inner: &Inner, call: CallId, broken: &mut Broken) {
        let this = &inner.calls[call];
        let Some(line) = inner.queues.get(&this.line) else {
            return;
        };
        let is_disturbed =
            !self.is_awake(inner, call) || self.world.paused_for(this.line.0) != line.paused;
        let has_waited = this.attempts.is_empty() && this.stalled.is_zero();
        if line.held > 0 || is_disturbed || !has_waited {
            return;
        }
        let since = line.stirred_at.max(this.came_at);
        let idle = on_clock(&this.clock, since, self.world.now());
        let delays = line
            .waiting
            .iter()
            .map(|call| &inner.calls[*call].request.retry_delay);
        let pause = delays.max().copied().unwrap_or_default();
        let bound = pause.max(Duration::from_millis(1)) + DEFAULT_NODE_TIMEOUT + LONGEST_BREAK;
        let mut stalls = line.stalls.iter();
        let is_stalled = stalls.by_ref().any(|until| *until > since);
        // Each of them may be given the turn before it is this one's.
        let lost = u32::from(is_stalled) + u32::try_from(stalls.count()).unwrap_or(u32::MAX);
        if idle > bound + SLACK + LOST_AFTER.saturating_mul(lost) {
            let text = format!("call {call} stood in line while nobody used the turn for {idle:?}");
            broken.push((Invariant::Idle, text));
        }
    }

    /// `call` begins `attempt`. Where it is the next one behind a lock that was released although it
    /// stood in line, either others had time to ask for it, or the lock was left for it: then the lease
    /// that comes of it is one more [of those that were handed over](Self::check_chain).
    pub(crate) fn note_break(&self, inner: &mut Inner, call: CallId, attempt: usize) {
        let this = &inner.calls[call];
        if this.request.kind != Kind::Plain {
            return;
        }
        let left = inner
            .queues
            .get(&this.line)
            .and_then(|line| line.left.as_ref());
        let Some((lease, left_at, stood)) = left else {
            return;
        };
        let (number, lease) = (*lease, &inner.leases[*lease]);
        let is_next = stood.len() == 1 && stood.contains(&call);
        let is_release = lease.ended == Some(LeaseEnd::Released);
        let is_new = this.attempts.is_empty();
        let is_bounded = matches!(this.request.retry_limit, RetryLimit::Wait(_));
        if !(is_next && is_release && is_new) || is_bounded || !self.is_awake(inner, call) {
            return;
        }
        let looked = inner.looked.get(&this.line);
        if looked.is_some_and(|looked| looked >= left_at) {
            inner.coverage.broke_off += 1;
        } else {
            inner.attempts[attempt].follows = Some(number);
        }
    }

    /// `call` asks the nodes as often as its pauses, and reports of nodes that can vote make it; not more.
    pub(crate) fn check_storm(
        &self,
        inner: &Inner,
        call: CallId,
        now: Duration,
        broken: &mut Broken,
    ) {
        let this = &inner.calls[call];
        if this.request.kind != Kind::Plain {
            // Each release of a permit in its process is a reason to ask.
            return;
        }
        let waited = on_clock(&this.clock, this.came_at, now);
        let pauses = if let RetryLimit::Count(retries) = this.request.retry_limit {
            retries
        } else {
            let pause = (this.request.retry_delay / 2).max(Duration::from_millis(1));
            u32::try_from(waited.as_nanos() / pause.as_nanos()).unwrap_or(u32::MAX)
        };
        let most = pauses
            .saturating_add(this.request.split_retries)
            .saturating_add(this.woken)
            .saturating_add(3);
        let made = this.attempts.len();
        if made > usize::try_from(most).unwrap_or(usize::MAX) && self.is_awake(inner, call) {
            let text = format!("call {call} asks for the {made}th time, after {waited:?}");
            broken.push((Invariant::Storm, text));
        }
    }

    /// The holder of lease `number` is about to end it, unless it is over, as is said in `how`.
    pub fn leaving(&self, number: usize, how: LeaseEnd) {
        let Some(handle) = self.handle(number) else {
            return;
        };
        let over = self.world.observing(|| handle.over());
        let now = self.world.now();
        let id = {
            let mut guard = self.lock();
            let inner = &mut *guard;
            let lease = &mut inner.leases[number];
            lease.ended = Some(over.clone().unwrap_or(how));
            lease.left_at = Some(now);
            let id = inner.calls[lease.call].line.clone();
            let line = inner.queues.entry(id.clone()).or_default();
            line.held = line.held.saturating_sub(1);
            line.left = Some((number, now, line.waiting.clone()));
            inner.coverage.lost_in_line += u64::from(over.is_some() && !line.waiting.is_empty());
            id
        };
        self.stir(&id);
    }
}
