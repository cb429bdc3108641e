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

/// Passes operations from the callers to the driver. Every call returns at once.
pub(super) struct Inbox {
    pub(super) log: NodeLog,
    pub(super) options: RedisOptions,
    pub(super) metrics: Arc<NodeMetrics>,
    pub(super) time: LibraryTime,
    state: Mutex<InboxState>,
    /// True once the first attempt to connect is over, and it is known whether the node votes.
    is_settled: watch::Sender<bool>,
    /// True once the node was dropped. Submitted operations are still sent.
    has_ended: watch::Sender<bool>,
    /// True if a server has answered a call since the driver last looked.
    pub(super) has_served: AtomicBool,
    /// See [`Node::epoch`].
    epoch: AtomicU32,
    listeners: Mutex<Vec<EpochListener>>,
}

/// For this long after an error, a server that answers with errors has the status that it does not vote.
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

    /// Queues a call, or answers it if the gate rejects it. Unlocks the state first, then wakes the driver.
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

    /// Makes the driver report the keys of a caller. Without a connection, the next one asks for them.
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
        // It can only fail without a sender, which is here.
        let _ = self.is_settled.subscribe().wait_for(|it| *it).await;
    }

    /// Ends the inbox: no other operations come. The driver sends the queue and ends.
    pub(super) fn end(&self) {
        self.has_ended.send_replace(true);
        wake_driver(self.state.lock());
    }

    /// Makes the driver check the node at once, because of another node's check.
    pub(super) fn request_check(&self) {
        let mut state = self.state.lock();
        state.needs_check = true;
        wake_driver(state);
    }

    // The driver's side.

    /// Opens the gate of a new connection, in `quarantine` until its restart check is answered. After a driver that
    /// panicked, or whose runtime has ended, the gate is still open and stays so: calls are behind the check's question,
    /// and no grant counts before its verdict. What was owed before goes ahead of everything else.
    pub(super) fn open(&self, quarantine: NodeError, mend: Option<Arc<str>>) {
        let now = self.time.now();
        let mut state = self.state.lock();
        let closed = state.closed.take();
        self.metrics.record_connected(closed.is_none(), now, mend);
        if let Some(error) = closed {
            // A server that was refused, or denied something, keeps that status until the restart check says otherwise.
            let is_refused = matches!(error.kind(), NodeErrorKind::Refused | NodeErrorKind::Denied);
            state.quarantine = Some(if is_refused { error } else { quarantine });
        }
        (state.suspicion, state.error_streak) = (None, None);
        state.connections += 1;
        state.queue_owed(now);
    }

    /// Makes the node suspect: an answer is overdue.
    pub(super) fn suspect(&self, overdue: Duration) {
        let detail = format!("no answer for {} ms", overdue.as_millis());
        let error = NodeError::unsent(NodeErrorKind::TimedOut, detail);
        self.metrics.record_error(&error);
        self.state.lock().suspicion = Some(error);
        self.is_settled.send_replace(true);
    }

    /// Ends the suspicion: the overdue answer came.
    pub(super) fn trust(&self) {
        self.state.lock().suspicion = None;
    }

    /// The status of the node is that it does not vote if the server answers acquisitions or releases with `error`. Both
    /// are still sent.
    pub(super) fn record_error_streak(&self, error: Option<&NodeError>) {
        let error_streak = error.map(|error| (error.clone(), self.time.now()));
        self.state.lock().error_streak = error_streak;
    }

    /// Sets the reason why the node votes no. `None` ends the quarantine. `is_settled` has the meaning
    /// of [`Action::Hold`](crate::restart_check::Action::Hold).
    pub(super) fn quarantine(&self, reason: Option<NodeError>, is_settled: bool) {
        self.state.lock().quarantine = reason;
        if is_settled {
            self.is_settled.send_replace(true);
        }
    }

    /// Begins an epoch: earlier grants of the node no longer count. Call it while the node is in
    /// quarantine, so that the node grants nothing meanwhile.
    pub(super) fn begin_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        let listeners = self.listeners.lock().clone();
        for tell in listeners {
            tell();
        }
    }

    /// Closes the gate: there is no connection, for the reason `error`. The operations in the queue were never sent.
    pub(super) fn close(&self, error: &NodeError) {
        // Later operations are never sent.
        let unsent = error.clone().into_unsent();
        let mut state = self.state.lock();
        let before = state.closed.replace(unsent.clone());
        self.metrics.record_disconnected(before.is_none(), error);
        // What was sent stays outstanding until it is lost, and its releases are owed.
        let queue = std::mem::take(&mut state.queue);
        state.outstanding = state.outstanding.saturating_sub(queue.len());
        self.fail_calls(state, queue, &unsent);
        self.is_settled.send_replace(true);
    }

    /// Fails calls that got no answer, for the reason `error`. They may have been served, and must be undone.
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

    /// Fails calls. The releases among them are owed.
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

    /// Fills `batch`, which is empty, with what came, and subtracts `answered` from the outstanding operations. What comes
    /// later wakes the driver.
    pub(super) fn take_batch(&self, batch: &mut Batch, answered: usize, driver: &Waker) {
        // Dropped once the mutex is unlocked: it may be the last handle of its task.
        let mut _earlier = None;
        let mut state = self.state.lock();
        state.outstanding = state.outstanding.saturating_sub(answered);
        std::mem::swap(&mut state.queue, &mut batch.calls);
        state.mark_put_back(&batch.calls);
        std::mem::swap(&mut state.watches, &mut batch.watches);
        batch.needs_check = std::mem::take(&mut state.needs_check);
        batch.outstanding = state.outstanding;
        // Nothing comes after the end, and an end after this look wakes the driver.
        batch.has_ended = *self.has_ended.borrow();
        if !state.driver.as_ref().is_some_and(|it| it.will_wake(driver)) {
            _earlier = state.driver.replace(driver.clone());
        }
    }

    /// True if the gate is open. After the end of its runtime, the driver connects again behind an open gate.
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

    /// True if an acquisition has lost its answer.
    pub(super) fn has_lost(&self) -> bool {
        !self.state.lock().lost.is_empty()
    }

    /// True if `release` must be repeated: its acquisition lost its answer, and may still reach the server.
    pub(super) fn is_still_owed(&self, release: &QueuedCall, is_released: bool) -> bool {
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

    /// The number of operations that were submitted and not answered.
    pub(super) fn in_flight(&self) -> usize {
        self.state.lock().outstanding
    }

    /// True if there was an earlier connection, which may have led to another server.
    pub(super) fn has_reconnected(&self) -> bool {
        self.state.lock().connections > 1
    }

    /// True if a release is owed that has not passed its ttl.
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

    /// True if no call is queued or unanswered, and no release waits for its first answer.
    fn drained(&self) -> bool {
        let now = self.time.now();
        let state = self.state.lock();
        let mut owed = state.owed.iter();
        let is_any = owed.any(|it| it.is_due(now) && !it.is_answered);
        state.outstanding == 0 && !is_any
    }

    /// True if the driver has handed each call to the connection, or there is no connection.
    fn dispatched(&self) -> bool {
        let state = self.state.lock();
        state.queue.is_empty() || state.closed.is_some()
    }

    fn watch(&self, watch: Watch) {
        self.queue_watch(Arc::new(watch));
    }

    /// The node votes if the gate is open and the server is not known to answer with errors.
    fn status(&self) -> NodeStatus {
        let state = self.state.lock();
        let error_streak = state.error_streak.as_ref();
        let counts = |at: Instant| self.time.now().duration_since(at) < STREAK_COUNTS_FOR;
        let error_streak = error_streak.filter(|(_, at)| counts(*at));
        let objection = state.objection(&self.options);
        let objection = objection.or_else(|| error_streak.map(|(error, _)| error.clone()));
        objection.map_or(NodeStatus::Voting, NodeStatus::Abstaining)
    }

    /// Without the server's address.
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

/// All that callers left since the driver's last look.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) calls: Vec<QueuedCall>,
    /// Callers that wait for keys.
    pub(super) watches: Vec<Arc<Watch>>,
    /// The node is to be checked at once.
    pub(super) needs_check: bool,
    /// The number of operations that are not answered, with these.
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
