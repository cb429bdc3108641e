//! Acquisitions from the outside: who came when, and stands in which line of its process.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::{Request, Resource};

use super::{History, Inner, Invariant, Told};
use crate::check::Wait;
use crate::clock::SkewedClock;
use crate::operation::is_shared;
use crate::world::{CallId, ProcessId};

/// The callers of one process who want the same keys.
pub(crate) type LineId = (ProcessId, Resource);

/// One acquisition.
pub(crate) struct Call {
    pub(crate) line: LineId,
    pub(crate) request: Request,
    pub(crate) clock: Arc<SkewedClock>,
    /// Its place among all that happened, and the time, when it was first polled.
    came: u64,
    pub(crate) came_at: Duration,
    /// Its place when that poll was over. From then on it stands in line, if it is not settled.
    pub(crate) entered: Option<u64>,
    /// The total pause of its process when the call came.
    paused: Duration,
    /// The time for which the call was not polled although it was woken.
    pub(crate) stalled: Duration,
    stalled_until: Duration,
    /// Its attempts so far.
    pub(crate) attempts: Vec<usize>,
    /// The reports to its current watch.
    pub(crate) told: Told,
    /// The wait for a permit, in which the call was present whenever one was free.
    pub(crate) wait: Wait,
    /// The number of attempts that may be due to reports of a free lock.
    pub(crate) woken: u32,
    /// No time passed in its last poll.
    pub(crate) is_prompt: bool,
}

/// See [`LineId`].
#[derive(Default)]
pub(crate) struct Line {
    /// Whoever has come and is not settled.
    pub(crate) waiting: BTreeSet<CallId>,
    /// The time of the last event which shows that the caller with the turn uses it.
    pub(crate) stirred_at: Duration,
    /// The total pause of the process at that time.
    pub(crate) paused: Duration,
    /// The times until which callers in the process are not polled, for callers that were polled since then.
    pub(crate) stalls: Vec<Duration>,
    /// Leases that their holders have not left.
    pub(crate) held: usize,
    /// The last lease that was left, when, and who stood in line then.
    pub(crate) left: Option<(usize, Duration, BTreeSet<CallId>)>,
}

impl History {
    /// Records that a caller of `process` comes with `request`. Returns its number.
    pub fn came(&self, process: ProcessId, clock: &Arc<SkewedClock>, request: &Request) -> CallId {
        let (now, paused) = (self.world.now(), self.world.paused_for(process));
        let mut guard = self.lock();
        let inner = &mut *guard;
        let number = inner.calls.len();
        // Readers hold side by side, and nodes say who goes first: what is checked of lines does not hold.
        let id = if is_shared(request.kind) {
            (process, format!("shared by call {number}").into())
        } else {
            (process, request.resource.clone())
        };
        let line = inner.queues.entry(id.clone()).or_default();
        if line.waiting.is_empty() && line.held == 0 {
            (line.stirred_at, line.paused) = (now, paused);
        } else {
            inner.coverage.queued += 1;
        }
        inner.next += 1;
        inner.calls.push(Call {
            line: id,
            request: request.clone(),
            clock: Arc::clone(clock),
            came: inner.next,
            came_at: now,
            entered: None,
            paused,
            stalled: Duration::ZERO,
            stalled_until: Duration::ZERO,
            attempts: Vec::new(),
            told: Told::default(),
            wait: Wait::default(),
            woken: 0,
            is_prompt: false,
        });
        line.waiting.insert(number);
        drop(guard);
        self.note(20, [process as u64, number as u64], || {
            format!(
                "c{process} acquires {:?} for {:?}, as call {number}",
                request.resource, request.ttl
            )
        });
        number
    }

    /// Records the end of a poll of `call` that began at `began`.
    pub fn polled(&self, call: CallId, began: Duration) {
        let now = self.world.now();
        let mut inner = self.lock();
        inner.next += 1;
        let place = inner.next;
        let Inner {
            calls, attempts, ..
        } = &mut *inner;
        let call = &mut calls[call];
        call.entered.get_or_insert(place);
        call.is_prompt = began == now;
        for attempt in call.attempts.iter().rev() {
            let attempt = &mut attempts[*attempt];
            if std::mem::replace(&mut attempt.is_told, attempt.released_at.is_some()) {
                break;
            }
        }
    }

    /// `call` is not polled until `until`, even if it is woken.
    pub fn stalls(&self, call: CallId, until: Duration) {
        let now = self.world.now();
        let mut guard = self.lock();
        let inner = &mut *guard;
        inner.coverage.stalled += 1;
        let call = &mut inner.calls[call];
        call.stalled += until.saturating_sub(now);
        call.stalled_until = until;
        if let Some(line) = inner.queues.get_mut(&call.line) {
            line.stalls.push(until);
        }
        let process = call.line.0;
        drop(guard);
        self.note(24, [process as u64, 0], || {
            format!("c{process} does not poll a call until {until:?}")
        });
    }

    /// True if a call of `process` is not polled, so that its keys are cleaned up only later.
    pub(crate) fn is_stalled(&self, process: ProcessId) -> bool {
        let now = self.world.now();
        let inner = self.lock();
        let mut stalled = inner.calls.iter();
        stalled.any(|call| call.line.0 == process && call.stalled_until > now)
    }

    /// Returns for how long `call` was not polled.
    pub fn stalled_for(&self, call: CallId) -> Duration {
        self.lock().calls[call].stalled
    }

    /// `call` had enough, and was told `error`. It was in line until now.
    pub(crate) fn gave_up(&self, call: CallId, error: &AcquireError) {
        let mut broken = Vec::new();
        {
            let mut inner = self.lock();
            if !is_shared(inner.calls[call].request.kind) {
                self.check_idle(&inner, call, &mut broken);
                self.check_woken(&inner, call, &mut broken);
                self.check_told(&mut inner, call, error, &mut broken);
            }
        }
        self.violated_all(broken);
    }

    /// `call` has its lease or its error, or was dropped.
    pub fn settled(&self, call: CallId) {
        let mut inner = self.lock();
        let id = inner.calls[call].line.clone();
        inner.queue(&id).waiting.remove(&call);
        drop(inner);
        self.stir(&id);
    }

    /// True if anything is submitted in `work`.
    pub(crate) fn submits_in(&self, work: impl FnOnce()) -> bool {
        let before = self.lock().submitted;
        work();
        self.lock().submitted > before
    }

    /// Records that the future of `call` was dropped, and that its drop submitted something.
    pub fn cancelled(&self, call: CallId, has_submitted: bool) {
        let mut guard = self.lock();
        let inner = &mut *guard;
        let has_tried = !inner.calls[call].attempts.is_empty();
        let line = inner.queues.get(&inner.calls[call].line);
        let is_alone = line.is_none_or(|line| line.waiting.len() < 2 && line.held == 0);
        let coverage = &mut inner.coverage;
        coverage.cancelled += 1;
        coverage.cancelled_at_turn += u64::from(!has_tried && has_submitted);
        coverage.cancelled_in_line += u64::from(!has_tried && !has_submitted && !is_alone);
    }

    /// Records an event which shows that the caller with the turn uses it.
    pub(crate) fn stir(&self, id: &LineId) {
        let (now, paused) = (self.world.now(), self.world.paused_for(id.0));
        let mut inner = self.lock();
        let line = inner.queue(id);
        line.stirred_at = now;
        line.stalls.retain(|until| *until > now);
        line.paused = paused;
    }

    /// True if `call` was polled whenever it was woken, but for less than what takes a turn away.
    pub(crate) fn is_awake(&self, inner: &Inner, call: CallId) -> bool {
        let call = &inner.calls[call];
        let process = call.line.0;
        let paused = self.world.paused_for(process).saturating_sub(call.paused);
        !self.world.is_paused(process)
            && paused + call.stalled < crate::profile::DEFAULT_NODE_TIMEOUT / 2
    }

    /// `call` begins `attempt`: the turn is its own.
    pub(crate) fn attempted(&self, call: CallId, attempt: usize) {
        let mut broken = Vec::new();
        if is_shared(self.lock().calls[call].request.kind) {
            self.lock().calls[call].attempts.push(attempt);
            return;
        }
        let id = {
            let mut inner = self.lock();
            self.check_idle(&inner, call, &mut broken);
            self.check_woken(&inner, call, &mut broken);
            self.note_break(&mut inner, call, attempt);
            inner.calls[call].line.clone()
        };
        {
            let now = self.world.now();
            let mut guard = self.lock();
            let inner = &mut *guard;
            if let Some(last) = inner.calls[call].attempts.last() {
                let is_owed = inner.was_reported_free(call, *last, now);
                let delay = inner.calls[call].request.retry_delay;
                let is_early = now.saturating_sub(inner.attempts[*last].staked_at) < delay / 2;
                inner.calls[call].woken += u32::from(is_owed);
                inner.coverage.woken += u64::from(is_owed && is_early);
            }
            inner.calls[call].attempts.push(attempt);
            inner.attempts[attempt].call = Some(call);
            self.check_storm(inner, call, now, &mut broken);
        }
        self.stir(&id);
        self.violated_all(broken);
    }

    pub(crate) fn violated_all(&self, broken: impl IntoIterator<Item = (Invariant, String)>) {
        for (invariant, text) in broken {
            self.violated(invariant, text);
        }
    }
}

impl Inner {
    pub(crate) fn queue(&mut self, id: &LineId) -> &mut Line {
        self.queues.entry(id.clone()).or_default()
    }

    /// Returns the number of the call in the order in which calls came.
    pub(crate) fn came(&self, call: CallId) -> u64 {
        self.calls[call].came
    }
}

/// Returns how long it is from one common time to a later one, on a client's clock.
pub(crate) fn on_clock(clock: &SkewedClock, from: Duration, to: Duration) -> Duration {
    (clock.moment_at(to)).saturating_since(clock.moment_at(from))
}
