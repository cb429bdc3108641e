//! The content of an inbox, and its gate.

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

/// The most releases that are kept while the server does not take them. Beyond it the oldest are
/// dropped, and their keys expire at the ttl.
const MOST_OWED: usize = 65_536;

/// Four times as many as one connection can have in flight. An acquisition that is never released, or whose key was put
/// back, stays on the list, so a full list is emptied.
const MOST_LOST: usize = 65_536;

#[derive(Default)]
pub(super) struct InboxState {
    /// The reason why there is no connection, if there is none. Nothing is taken then.
    pub(super) closed: Option<NodeError>,
    /// The node may have forgotten locks, or was not checked yet. It votes no. Releases are still sent.
    pub(super) quarantine: Option<NodeError>,
    /// An answer is overdue. The node votes no. Releases are still sent, after the operations that they undo.
    pub(super) suspicion: Option<NodeError>,
    /// The server's last error, and when it came, if the server answers acquisitions or releases with errors. They are
    /// still sent: no vote depends on it.
    pub(super) error_streak: Option<(NodeError, tokio::time::Instant)>,
    pub(super) queue: Vec<QueuedCall>,
    /// Releases that could not be sent, lost their answer, or were answered with an error.
    pub(super) owed: VecDeque<QueuedCall>,
    /// The owners of acquisitions that lost their answer with their connection. If the server stands still, the
    /// acquisition may lie in an old socket and come later than its release. True once a call was sent that puts the
    /// key back: a key that the release deletes is then no evidence that the acquisition has come.
    pub(super) lost: HashMap<OwnerToken, bool>,
    /// The keys that may hold huge values, while no connection has them.
    pub(super) huge: HugeKeys,
    /// Callers that wait for keys, which the driver does not know yet.
    pub(super) watches: Vec<Arc<Watch>>,
    /// True if another node's check wants this node to be checked too.
    pub(super) needs_check: bool,
    /// When the oldest call of the queue came.
    pub(super) oldest: Option<Instant>,
    /// The number of operations that were submitted and not answered.
    pub(super) outstanding: usize,
    /// The number of connections so far.
    pub(super) connections: u64,
    /// The driver's waker, unless the driver was woken since its last look.
    pub(super) driver: Option<Waker>,
}

impl InboxState {
    /// The reason why an operation is not queued.
    pub(super) fn rejection(&self, is_release: bool, options: &RedisOptions) -> Option<NodeError> {
        if is_release {
            return self.closed.clone();
        }
        let is_full = self.outstanding >= options.max_in_flight;
        let detail = "too many operations are in flight";
        let full = || NodeError::unsent(NodeErrorKind::Saturated, detail);
        self.objection(options).or_else(|| is_full.then(full))
    }

    /// The reason why the node votes no. A quarantine precedes a suspicion, because a suspect node may vote again in a
    /// moment.
    pub(super) fn objection(&self, options: &RedisOptions) -> Option<NodeError> {
        let known = self.closed.as_ref().or(self.quarantine.as_ref());
        let known = known.or(self.suspicion.as_ref()).cloned();
        // If the driver has not looked at the queue for this long, its runtime stands still.
        let stands = |oldest: Instant| oldest.elapsed() >= options.suspect_after;
        let stands = || !self.queue.is_empty() && self.oldest.is_some_and(stands);
        known.or_else(|| {
            let detail = "the runtime on which the locks were initialized is too busy, or something blocks it";
            stands().then(|| NodeError::unsent(NodeErrorKind::TimedOut, detail))
        })
    }

    /// Queues the owed releases that have not passed their ttl, ahead of everything else.
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

    /// Remembers an acquisition that may come later than its release.
    pub(super) fn remember_lost(&mut self, call: &Call) {
        if let (Effect::Takes | Effect::PutsBack, Some(token)) = (call.effect, call.token()) {
            if self.lost.len() == MOST_LOST {
                self.lost.clear();
            }
            let is_put_back = self.lost.entry(token.clone()).or_default();
            *is_put_back |= call.effect == Effect::PutsBack;
        }
    }

    /// Marks the lost acquisitions whose keys `calls` put back.
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

    /// Forgets a lost acquisition that has come, or whose release has passed its ttl. One whose key was put back stays,
    /// because a release of the same owner may follow.
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

/// Wakes the driver once the mutex is unlocked.
pub(super) fn wake_driver(mut state: MutexGuard<'_, InboxState>) {
    let driver = state.driver.take();
    drop(state);
    if let Some(driver) = driver {
        driver.wake();
    }
}
