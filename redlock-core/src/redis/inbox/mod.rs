//! The inbox, in which operations wait for the driver.

mod huge_keys;
pub(super) mod metrics;
mod queued_call;
mod state;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Waker;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::error::STOOD_STILL;
use crate::io_thread::LibraryTime;
use crate::logging::NodeLog;
use crate::node::watch::{KeyReport, Watch};
use crate::node::{
    Answer, Call, EpochListener, Node, NodeError, NodeErrorKind, NodeHealth, NodeStatus, Submission,
};
use crate::redis::errors::not_connected;
use crate::redis::options::RedisOptions;
pub(super) use huge_keys::HugeKeys;
pub(super) use queued_call::QueuedCall;
use state::{InboxState, wake_driver};

use metrics::NodeMetrics;

/// Passes operations from callers to the driver. Submitting never blocks.
pub(super) struct Inbox {
    pub(super) log: NodeLog,
    pub(super) options: RedisOptions,
    pub(super) metrics: Arc<NodeMetrics>,
    pub(super) time: LibraryTime,
    state: Mutex<InboxState>,
    /// True once the first attempt to connect is over and it is known if the node votes.
    is_settled: watch::Sender<bool>,
    /// True once the node was dropped. Submitted operations are still sent.
    has_ended: watch::Sender<bool>,
    /// True if the server has answered since the driver last reset this flag.
    pub(super) has_served: AtomicBool,
    /// See [`Node::epoch`].
    epoch: AtomicU32,
    listeners: Mutex<Vec<EpochListener>>,
}

/// The time for which a streak of errors counts after its last error.
pub(super) const STREAK_COUNTS_FOR: Duration = Duration::from_secs(10);

impl Inbox {
    pub(super) fn new(
        log: NodeLog,
        options: RedisOptions,
        metrics: Arc<NodeMetrics>,
        time: LibraryTime,
    ) -> Self {
        let state = InboxState {
            closed: Some(not_connected("not connected yet")),
            ..InboxState::default()
        };
        Self {
            log,
            options,
            metrics,
            time,
            state: Mutex::new(state),
            is_settled: watch::Sender::new(false),
            has_ended: watch::Sender::new(false),
            has_served: AtomicBool::new(false),
            epoch: AtomicU32::new(0),
            listeners: Mutex::default(),
        }
    }

    /// Queues a call, or answers it with an error if the gate rejects it. Unlocks the state before it wakes or answers.
    pub(super) fn queue(&self, queued: QueuedCall) {
        let mut state = self.state.lock();
        if let Some(error) = state.rejection(queued.call().is_release(), &self.options) {
            return self.fail_calls(state, vec![queued], &error);
        }
        state.outstanding += 1;
        if state.queue.is_empty() {
            state.oldest = Some(std::time::Instant::now());
        }
        state.queue.push(queued);
        wake_driver(state);
    }

    /// Passes a caller's watch to the driver, which reports on the keys. Without a connection, reports `Unknown` at
    /// once, and the next connection asks about the keys.
    pub(super) fn queue_watch(&self, watch: Arc<Watch>) {
        if self.state.lock().closed.is_some() {
            watch.report(KeyReport::Unknown);
        }
        let mut state = self.state.lock();
        if state.watches.len() == state.watches.capacity() {
            state.watches.retain(|it| it.is_wanted());
        }
        state.watches.push(watch);
        wake_driver(state);
    }

    pub(super) async fn wait_until_settled(&self) {
        // Waiting fails only if the sender is dropped, and `self` has the sender.
        let _ = self.is_settled.subscribe().wait_for(|it| *it).await;
    }

    /// Ends the inbox of a dropped node. No more operations come; the driver sends the queue and ends.
    pub(super) fn end(&self) {
        self.has_ended.send_replace(true);
        wake_driver(self.state.lock());
    }

    /// Requests a check of this node at once, on behalf of another node's check.
    pub(super) fn request_check(&self) {
        let mut state = self.state.lock();
        state.needs_check = true;
        wake_driver(state);
    }

    // Methods for the driver.

    /// Opens the gate for a new connection, in `quarantine` until its check is answered. Queues owed releases ahead of
    /// all other calls. The gate is open already if a driver has panicked or its runtime has ended, and then it stays
    /// open. This is safe, because calls are sent after the check's question, and no grant counts before its verdict.
    pub(super) fn open(&self, quarantine: NodeError, mend: Option<Arc<str>>) {
        let now = self.time.now();
        let mut state = self.state.lock();
        let closed = state.closed.take();
        self.metrics.record_connected(closed.is_none(), now, mend);
        if let Some(error) = closed {
            // A server that was refused or denied keeps that status until the restart check says otherwise.
            let is_refused = matches!(error.kind(), NodeErrorKind::Refused | NodeErrorKind::Denied);
            state.quarantine = Some(if is_refused { error } else { quarantine });
        }
        (state.suspicion, state.error_streak) = (None, None);
        state.connections += 1;
        state.queue_owed(now);
    }

    /// Makes the node suspect, because an answer is overdue.
    pub(super) fn suspect(&self, overdue: Duration) {
        let mut detail = format!("no answer for {} ms", overdue.as_millis());
        let is_first = self.state.lock().suspicion.is_none();
        // The driver looks once an answer is `suspect_after` old. So a first look after twice this time is late.
        if is_first && overdue >= self.options.suspect_after * 2 {
            detail = detail + ": " + STOOD_STILL;
        }
        let error = NodeError::unsent(NodeErrorKind::TimedOut, detail);
        self.metrics.record_error(&error);
        self.state.lock().suspicion = Some(error);
        self.is_settled.send_replace(true);
    }

    /// Ends the suspicion, because the overdue answer has come.
    pub(super) fn trust(&self) {
        self.state.lock().suspicion = None;
    }

    /// Sets the error with which the server keeps answering, or clears it with `None`. While there is one, the status
    /// of the node is `Abstaining`, but operations are still sent.
    pub(super) fn record_error_streak(&self, error: Option<&NodeError>) {
        let error_streak = error.map(|error| (error.clone(), self.time.now()));
        self.state.lock().error_streak = error_streak;
    }

    /// Sets the reason for a quarantine, or ends the quarantine with `None`. `is_settled` has the meaning of
    /// [`Action::Hold`](crate::restart_check::Action::Hold).
    pub(super) fn quarantine(&self, reason: Option<NodeError>, is_settled: bool) {
        self.state.lock().quarantine = reason;
        if is_settled {
            self.is_settled.send_replace(true);
        }
    }

    /// Begins an epoch, which voids earlier grants of the node. Call this while the node is in quarantine: it must
    /// grant nothing until all listeners know.
    pub(super) fn begin_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        let listeners = self.listeners.lock().clone();
        for tell in listeners {
            tell();
        }
    }

    /// Closes the gate of a disconnected node, for the reason `error`. Fails queued operations, which were never sent.
    pub(super) fn close(&self, error: &NodeError) {
        // Operations that are submitted later stay unsent too.
        let unsent = error.clone().into_unsent();
        let mut state = self.state.lock();
        let before = state.closed.replace(unsent.clone());
        self.metrics.record_disconnected(before.is_none(), error);
        // Operations that were sent stay outstanding until `lose` fails them and keeps their releases.
        let queue = std::mem::take(&mut state.queue);
        state.outstanding = state.outstanding.saturating_sub(queue.len());
        self.fail_calls(state, queue, &unsent);
        self.is_settled.send_replace(true);
    }

    /// Fails calls of a closed connection, for the reason `error`. The server may have run them: they must be undone.
    pub(super) fn lose(&self, calls: Vec<QueuedCall>, error: &NodeError) {
        let mut state = self.state.lock();
        state.outstanding = state.queue.len();
        if calls.is_empty() {
            return;
        }
        for queued in &calls {
            state.remember_lost(queued.call());
        }
        self.fail_calls(state, calls, &error.clone().into_sent());
    }

    /// Fails a call that the server did not serve, for the reason `error`.
    pub(super) fn fail_unserved(&self, queued: QueuedCall, error: &NodeError) {
        self.metrics.record_error(error);
        self.fail_calls(self.state.lock(), vec![queued], error);
    }

    /// Fails calls. Releases among them become owed releases. The state is unlocked before the calls are answered.
    fn fail_calls(
        &self,
        mut state: MutexGuard<'_, InboxState>,
        calls: Vec<QueuedCall>,
        error: &NodeError,
    ) {
        let owed = calls.iter().filter_map(|it| it.owed(&self.time));
        owed.for_each(|owed| state.owe(owed));
        drop(state);
        self.metrics.record_failed(error, calls.len());
        for queued in calls {
            queued.answer(Answer::Failed(error.clone()));
        }
    }

    /// Moves everything that callers have left into the empty `batch`. Subtracts `answered` from the outstanding
    /// operations. Later submissions wake the driver.
    pub(super) fn take_batch(&self, batch: &mut Batch, answered: usize, driver: &Waker) {
        // Drop the earlier waker after the mutex is unlocked, because it may be the last handle of its task.
        let mut _earlier = None;
        let mut state = self.state.lock();
        state.outstanding = state.outstanding.saturating_sub(answered);
        std::mem::swap(&mut state.queue, &mut batch.calls);
        state.mark_put_back(&batch.calls);
        std::mem::swap(&mut state.watches, &mut batch.watches);
        batch.needs_check = std::mem::take(&mut state.needs_check);
        batch.outstanding = state.outstanding;
        // No operation comes after the end, and an end after this line wakes the driver.
        batch.has_ended = *self.has_ended.borrow();
        if !state.driver.as_ref().is_some_and(|it| it.will_wake(driver)) {
            _earlier = state.driver.replace(driver.clone());
        }
    }

    /// True if the gate is open. The gate stays open while a driver whose runtime has ended reconnects.
    pub(super) fn is_open(&self) -> bool {
        self.state.lock().closed.is_none()
    }

    /// True if an operation waits for the driver.
    pub(super) fn has_queued(&self) -> bool {
        !self.state.lock().queue.is_empty()
    }

    /// Queues the owed releases again.
    pub(super) fn send_owed(&self, now: Instant) {
        let mut state = self.state.lock();
        state.queue_owed(now);
        wake_driver(state);
    }

    /// True if a lost acquisition may still run.
    pub(super) fn has_lost(&self) -> bool {
        !self.state.lock().lost.is_empty()
    }

    /// Keeps an answered `release` as an owed release if its lost acquisition may still run. Returns true if so.
    pub(super) fn owe_if_lost(&self, release: &QueuedCall, is_released: bool) -> bool {
        let Some(token) = release.call().token() else {
            return false;
        };
        let mut state = self.state.lock();
        if is_released {
            state.forget_lost(token);
        }
        let is_lost = state.lost.contains_key(token);
        if is_lost && let Some(mut owed) = release.owed(&self.time) {
            owed.is_answered = true;
            state.owe(owed);
        }
        is_lost
    }

    /// Returns the number of unanswered operations, queued ones included.
    pub(super) fn in_flight(&self) -> usize {
        self.state.lock().outstanding
    }

    /// True if there was an earlier connection, which may have led to another server.
    pub(super) fn has_reconnected(&self) -> bool {
        self.state.lock().connections > 1
    }

    /// True if there is an owed release whose ttl has not passed.
    #[cfg(test)]
    pub(super) fn owes(&self, now: Instant) -> bool {
        self.state.lock().owed.iter().any(|it| it.is_due(now))
    }

    /// Takes out the owed releases that belong to another master of a Cluster.
    pub(super) fn take_owed(&self, is_misplaced: impl Fn(&Call) -> bool) -> Vec<QueuedCall> {
        let mut state = self.state.lock();
        let owed = std::mem::take(&mut state.owed).into_iter();
        let (misplaced, kept): (Vec<_>, _) = owed.partition(|it| is_misplaced(it.call()));
        state.owed = kept.into();
        misplaced
    }

    /// Waits until the node is dropped.
    pub(super) async fn wait_for_end(&self) {
        let _ = self.has_ended.subscribe().wait_for(|it| *it).await;
    }
}

impl Node for Inbox {
    fn name(&self) -> &str {
        &self.log.pool
    }

    fn submit(&self, submission: Submission) {
        self.queue(QueuedCall::new(submission));
    }

    /// True if all calls are answered, and each owed release was answered at least once or has passed its ttl.
    fn drained(&self) -> bool {
        let now = self.time.now();
        let state = self.state.lock();
        let mut owed = state.owed.iter();
        let is_any = owed.any(|it| it.is_due(now) && !it.is_answered);
        state.outstanding == 0 && !is_any
    }

    /// True if the connection has taken every call from the queue, or the node is disconnected.
    fn dispatched(&self) -> bool {
        let state = self.state.lock();
        state.queue.is_empty() || state.closed.is_some()
    }

    fn watch(&self, watch: Watch) {
        self.queue_watch(Arc::new(watch));
    }

    /// Returns `Voting` if the gate is open and the server does not keep answering with errors.
    fn status(&self) -> NodeStatus {
        let state = self.state.lock();
        let error_streak = state.error_streak.as_ref();
        let counts = |at: Instant| self.time.now().duration_since(at) < STREAK_COUNTS_FOR;
        let error_streak = error_streak.filter(|(_, at)| counts(*at));
        let objection = state.objection(&self.options);
        let objection = objection.or_else(|| error_streak.map(|(error, _)| error.clone()));
        objection.map_or(NodeStatus::Voting, NodeStatus::Abstaining)
    }

    /// Returns the figures of the node, without the server's address.
    fn health(&self) -> NodeHealth {
        let mut health = self.metrics.health(self.time.now());
        health.in_flight = self.in_flight();
        health
    }

    fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    fn on_new_epoch(&self, listener: EpochListener) {
        self.listeners.lock().push(listener);
    }
}

/// The calls and watches that callers have left since the driver's last look.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) calls: Vec<QueuedCall>,
    /// Watches of callers that wait for keys.
    pub(super) watches: Vec<Arc<Watch>>,
    /// True if the node has to be checked at once.
    pub(super) needs_check: bool,
    /// The number of unanswered operations, including this batch.
    pub(super) outstanding: usize,
    /// True if the node was dropped.
    pub(super) has_ended: bool,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.calls.is_empty() && self.watches.is_empty() && !self.needs_check
    }
}

#[cfg(test)]
mod tests;
