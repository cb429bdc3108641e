//! The state of an inbox: its queue, its owed releases, and its gate.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::task::Waker;
use std::time::Instant;

use parking_lot::MutexGuard;

use super::{HugeKeys, QueuedCall};
use crate::model::token::OwnerToken;
use crate::node::watch::Watch;
use crate::node::{Call, Effect, NodeError, NodeErrorKind};
use crate::redis::options::RedisOptions;

/// The most owed releases that are kept. Beyond that, the oldest are dropped, and their keys expire at the ttl.
const MOST_OWED: usize = 65_536;

/// The most lost acquisitions that are remembered: four times the default of `max_in_flight`. An acquisition stays in
/// the list if it is never released, or if its key was put back. So a full list is emptied.
const MOST_LOST: usize = 65_536;

#[derive(Default)]
pub(super) struct InboxState {
    /// Set while the node is disconnected, with the reason. The gate then takes no operation.
    pub(super) closed: Option<NodeError>,
    /// Set while the node may have forgotten locks, or awaits its first check. It votes no, but releases are sent.
    pub(super) quarantine: Option<NodeError>,
    /// Set while an answer is overdue. The node votes no, but releases are sent, after the operations that they undo.
    pub(super) suspicion: Option<NodeError>,
    /// The last error of a server that keeps answering with errors, and its moment. The error affects the status only:
    /// operations are still sent, and votes count.
    pub(super) error_streak: Option<(NodeError, tokio::time::Instant)>,
    pub(super) queue: Vec<QueuedCall>,
    /// Releases to send later: unsent, unanswered, or answered with an error.
    pub(super) owed: VecDeque<QueuedCall>,
    /// The owners of lost acquisitions, whose connection ended before their answer. If the server hangs, such an
    /// acquisition may lie in an old socket and run after its release. The value is true once a call was sent that puts
    /// the key back. A release that then deletes a key does not prove that the acquisition has run.
    pub(super) lost: HashMap<OwnerToken, bool>,
    /// Keys that may hold huge values. Empty while a connection has them.
    pub(super) huge: HugeKeys,
    /// Watches of waiting callers, for the driver to take.
    pub(super) watches: Vec<Arc<Watch>>,
    /// True if another node's check has requested a check of this node.
    pub(super) needs_check: bool,
    /// The moment at which the oldest call in the queue was submitted.
    pub(super) oldest: Option<Instant>,
    /// The number of unanswered operations, queued ones included.
    pub(super) outstanding: usize,
    /// The number of connections so far.
    pub(super) connections: u64,
    /// The driver's waker; `None` from a wake of the driver until its next look.
    pub(super) driver: Option<Waker>,
}

impl InboxState {
    /// Returns the reason to reject an operation, or `None` to queue it.
    pub(super) fn rejection(&self, is_release: bool, options: &RedisOptions) -> Option<NodeError> {
        if is_release {
            return self.closed.clone();
        }
        let is_full = self.outstanding >= options.max_in_flight;
        let detail = "too many operations are in flight";
        let full = || NodeError::unsent(NodeErrorKind::Saturated, detail);
        self.objection(options).or_else(|| is_full.then(full))
    }

    /// Returns the reason why the node votes no, or `None` if it votes. A quarantine comes before a suspicion, because
    /// a suspect node may vote again in a moment.
    pub(super) fn objection(&self, options: &RedisOptions) -> Option<NodeError> {
        let known = self.closed.as_ref().or(self.quarantine.as_ref());
        let known = known.or(self.suspicion.as_ref()).cloned();
        // The driver's runtime is stuck if a call has waited in the queue for this long.
        let stands = |oldest: Instant| oldest.elapsed() >= options.suspect_after;
        let stands = || !self.queue.is_empty() && self.oldest.is_some_and(stands);
        known.or_else(|| {
            let detail = "the runtime on which the locks were initialized is too busy, or something blocks it";
            stands().then(|| NodeError::unsent(NodeErrorKind::TimedOut, detail))
        })
    }

    /// Moves owed releases to the front of the queue. Drops those whose ttl has passed.
    pub(super) fn queue_owed(&mut self, now: tokio::time::Instant) {
        let mut owed = std::mem::take(&mut self.owed);
        owed.retain(|it| {
            if !it.is_due(now)
                && let Some(token) = it.call().token()
            {
                self.forget_lost(token);
            }
            it.is_due(now)
        });
        if self.queue.is_empty() {
            self.oldest = Some(Instant::now());
        }
        self.outstanding += owed.len();
        self.queue.splice(..0, owed);
    }

    /// Remembers a lost acquisition, which may run after its release.
    pub(super) fn remember_lost(&mut self, call: &Call) {
        if let (Effect::Takes | Effect::PutsBack, Some(token)) = (call.effect, call.token()) {
            if self.lost.len() == MOST_LOST {
                self.lost.clear();
            }
            let is_put_back = self.lost.entry(token.clone()).or_default();
            *is_put_back |= call.effect == Effect::PutsBack;
        }
    }

    /// Marks the lost acquisitions whose keys are put back by `calls`.
    pub(super) fn mark_put_back(&mut self, calls: &[QueuedCall]) {
        if self.lost.is_empty() {
            return;
        }
        let calls = calls.iter().map(QueuedCall::call);
        for call in calls.filter(|call| call.effect == Effect::PutsBack) {
            if let Some(is_put_back) = call.token().and_then(|token| self.lost.get_mut(token)) {
                *is_put_back = true;
            }
        }
    }

    /// Forgets a lost acquisition that has run, or whose release has passed its ttl. An acquisition whose key was put
    /// back stays, because another release of its owner may follow.
    pub(super) fn forget_lost(&mut self, token: &OwnerToken) {
        if self.lost.get(token) == Some(&false) {
            self.lost.remove(token);
        }
    }

    pub(super) fn owe(&mut self, owed: QueuedCall) {
        if self.owed.len() == MOST_OWED {
            self.owed.pop_front();
        }
        self.owed.push_back(owed);
    }
}

/// Unlocks the state, then wakes the driver.
pub(super) fn wake_driver(mut state: MutexGuard<'_, InboxState>) {
    let driver = state.driver.take();
    drop(state);
    if let Some(driver) = driver {
        driver.wake();
    }
}
