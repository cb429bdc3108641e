//! The inbox, in which operations wait for the driver.

mod lost;
pub(in crate::redis) mod metrics;
mod refusals;
mod state;
mod submission;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::Context;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::env::caught::caught;
use crate::env::caught::wake;
use crate::env::io_thread::LibraryTime;
use crate::node::log::NodeLog;
use crate::node::watch::{KeyReport, Watch};
use crate::node::{Answer, EpochListener, NodeError, NodeErrorKind, NodeHealth, NodeStatus};
use crate::redis::options::RedisOptions;
use lost::LostAcquisitions;
use state::{InboxState, wake_driver};
pub(in crate::redis) use submission::{Owed, Submission};

use metrics::NodeMetrics;

/// The most watches that wait for the driver. One per lock and process is usual.
const MOST_WATCHES: usize = 16_384;

/// Callers that wait for keys, and keys that have changed; `None` for all keys.
type News = (Vec<Watch>, Vec<Option<Arc<[u8]>>>);

/// Passes operations from the callers to the driver. Every call returns at once.
pub(in crate::redis) struct Inbox {
    pub(in crate::redis) log: NodeLog,
    state: Mutex<InboxState>,
    /// Wakes `settled`: the first attempt to connect may be over.
    settled: Notify,
    max_in_flight: usize,
    /// See [`Node::epoch`](crate::Node::epoch).
    epoch: AtomicU32,
    listeners: Mutex<Vec<EpochListener>>,
    pub(in crate::redis) metrics: NodeMetrics,
    pub(in crate::redis) time: LibraryTime,
    /// True if new callers wait for keys, or the server has sent a message about keys, since the driver last took them.
    has_news: AtomicBool,
    /// True if another node's check wants this node to be checked too.
    is_doubted: AtomicBool,
    /// If the oldest call of the queue has waited for this long, the runtime of the driver stands still.
    standing_after: Duration,
    pub(in crate::redis) lost: LostAcquisitions,
}

impl Inbox {
    /// `news` is for a master of a Cluster: see [`NodeMetrics::new`].
    pub(in crate::redis) fn new(
        log: NodeLog,
        options: &RedisOptions,
        news: Option<Arc<Notify>>,
        time: LibraryTime,
    ) -> Self {
        Self {
            log,
            state: Mutex::new(InboxState::new()),
            time,
            epoch: AtomicU32::new(0),
            listeners: Mutex::default(),
            metrics: NodeMetrics::new(news),
            settled: Notify::new(),
            has_news: AtomicBool::new(false),
            is_doubted: AtomicBool::new(false),
            standing_after: options.suspect_after,
            lost: LostAcquisitions::default(),
            max_in_flight: options.max_in_flight,
        }
    }

    pub(in crate::redis) fn submit(&self, submission: Submission) {
        let is_release = submission.call.is_release();
        let mut state = self.state.lock();
        let refusal = state.refusal(is_release, self.standing_after, self.max_in_flight);
        if let Some(error) = refusal {
            if let Some(owed) = submission.owed(&self.time) {
                state.owe(owed);
            }
            drop(state);
            self.metrics.failed(error.kind(), 1);
            submission.reply.answer(Answer::Failed(error));
        } else {
            state.outstanding += 1;
            if state.queue.is_empty() {
                state.oldest = Some(std::time::Instant::now());
            }
            state.queue.push(submission);
            wake_driver(state);
        }
    }

    /// See [`Node::watch`](crate::Node::watch). Without a connection, the next one asks for its keys.
    pub(in crate::redis) fn watch(&self, watch: Watch) {
        let mut state = self.state.lock();
        let is_known = state.closed.is_none();
        if state.watches.len() >= MOST_WATCHES {
            state.watches.retain(Watch::is_wanted);
        }
        if state.watches.len() >= MOST_WATCHES {
            drop(state);
            // The drop reports that nothing is known.
            return drop(watch);
        }
        let unknown = (!is_known).then(|| watch.record(KeyReport::Unknown));
        state.watches.push(watch);
        self.has_news.store(true, Ordering::Release);
        wake_driver(state);
        if let Some(waker) = unknown.flatten() {
            wake(waker);
        }
    }

    /// The status of the node: it votes if the gate is open and the server is not known to answer with
    /// errors.
    pub(in crate::redis) fn status(&self) -> NodeStatus {
        let objection = self.state.lock().objection(self.standing_after);
        let objection = objection.or_else(|| self.metrics.refusals.reason(self.time.now()));
        objection.map_or(NodeStatus::Voting, NodeStatus::Abstaining)
    }

    /// The figures of the node, with the operations in flight.
    pub(in crate::redis) fn health(&self) -> NodeHealth {
        let mut health = self.metrics.health(self.time.now());
        health.in_flight = self.state.lock().outstanding;
        health
    }

    pub(in crate::redis) async fn settled(&self) {
        loop {
            let settled = self.settled.notified();
            if self.state.lock().is_settled {
                return;
            }
            settled.await;
        }
    }

    /// True if no call is queued or unanswered, and no release waits for its first answer.
    pub(in crate::redis) fn drained(&self) -> bool {
        let now = self.time.now();
        let state = self.state.lock();
        let mut owed = state.owed.iter();
        let is_any = owed.any(|owed| owed.until > now && !owed.is_answered);
        state.outstanding == 0 && state.retried == 0 && !is_any
    }

    /// True if the driver has handed each call to the connection, or there is no connection.
    pub(in crate::redis) fn dispatched(&self) -> bool {
        let state = self.state.lock();
        state.queue.is_empty() || state.closed.is_some()
    }

    pub(in crate::redis) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(in crate::redis) fn on_new_epoch(&self, listener: EpochListener) {
        self.listeners.lock().push(listener);
    }

    /// Ends the inbox: no other operations come. The driver sends the queue and ends.
    pub(in crate::redis) fn end(&self) {
        let mut state = self.state.lock();
        state.has_ended = true;
        wake_driver(state);
    }

    /// Has the node checked at once, because of another node's check.
    pub(in crate::redis) fn doubt(&self) {
        self.is_doubted.store(true, Ordering::Release);
        self.has_news.store(true, Ordering::Release);
        wake_driver(self.state.lock());
    }

    // The driver's side.

    /// True if the node is to be checked at once. Each doubt is reported once.
    pub(in crate::redis) fn is_doubted(&self) -> bool {
        self.is_doubted.load(Ordering::Acquire) && self.is_doubted.swap(false, Ordering::AcqRel)
    }

    /// Opens the gate of a new connection: the node votes from now on, unless it is in `quarantine`.
    /// Returns the releases that were owed before, which must be sent ahead of everything else.
    pub(in crate::redis) fn open(&self, quarantine: Option<NodeError>) -> Vec<Owed> {
        let now = self.time.now();
        self.metrics.connected(now);
        let owed = {
            let mut state = self.state.lock();
            let closed = state.closed.take();
            // In quarantine the node settles later: `settled` waits for the result of the check.
            state.is_settled |= quarantine.is_none();
            // A server that was refused stays refused until the restart check says otherwise.
            let refused = closed.filter(|error| error.kind() == NodeErrorKind::Refused);
            state.quarantine = quarantine.map(|looked_at| refused.unwrap_or(looked_at));
            state.suspicion = None;
            let owed = std::mem::take(&mut state.owed);
            state.retried = 0;
            state.still_owed(owed, now, &self.lost)
        };
        self.settled.notify_waiters();
        owed
    }

    /// Makes the node suspect: an answer is overdue.
    pub(in crate::redis) fn suspect(&self, overdue: Duration) {
        let detail = format!("no answer for {} ms", overdue.as_millis());
        let error = NodeError::unsent(NodeErrorKind::TimedOut, detail);
        self.metrics.record_error(&error);
        {
            let mut state = self.state.lock();
            state.suspicion = Some(error);
            state.is_settled = true;
        }
        self.settled.notify_waiters();
    }

    /// Ends the suspicion: the overdue answer came.
    pub(in crate::redis) fn trust(&self) {
        self.state.lock().suspicion = None;
    }

    /// Sets the reason why the node votes no. `None` ends the quarantine. `is_settled` has the meaning
    /// of [`Action::Hold`](crate::restart_check::Action::Hold).
    pub(in crate::redis) fn quarantine(&self, reason: Option<NodeError>, is_settled: bool) {
        {
            let mut state = self.state.lock();
            state.quarantine = reason;
            state.is_settled |= is_settled;
        }
        if is_settled {
            self.settled.notify_waiters();
        }
    }

    /// Begins an epoch: earlier grants of the node no longer count. Call it while the node is in
    /// quarantine, so that the node grants nothing meanwhile.
    pub(in crate::redis) fn begin_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        let listeners = self.listeners.lock().clone();
        for tell in listeners {
            caught("a listener to epochs", &*tell);
        }
    }

    /// Closes the gate: there is no connection, for the reason `error`. `owed` are releases from the
    /// connection that ended. The operations in the queue were never sent.
    pub(in crate::redis) fn close(&self, error: &NodeError, owed: Vec<Owed>) {
        self.metrics.disconnected(error);
        let queue = {
            let mut state = self.state.lock();
            // What comes from now on is never sent.
            state.closed = Some(error.clone().into_unsent());
            state.is_settled = true;
            state.outstanding = 0;
            state.retried = 0;
            for owed in owed {
                state.owe(owed);
            }
            state.changed.clear();
            let queue = std::mem::take(&mut state.queue);
            for submission in &queue {
                if let Some(owed) = submission.owed(&self.time) {
                    state.owe(owed);
                }
            }
            queue
        };
        self.settled.notify_waiters();
        self.metrics.failed(error.kind(), queue.len());
        let unsent = error.clone().into_unsent();
        for submission in queue {
            submission.reply.answer(Answer::Failed(unsent.clone()));
        }
    }

    /// Moves the queue into `taken`, which is empty, and subtracts `answered` from the outstanding
    /// operations. If the queue is empty and there is no news, stores the waker.
    pub(in crate::redis) fn take(
        &self,
        taken: &mut Vec<Submission>,
        answered: usize,
        context: &Context<'_>,
    ) -> Taken {
        let mut state = self.state.lock();
        state.outstanding = state.outstanding.saturating_sub(answered);
        std::mem::swap(&mut state.queue, taken);
        if !taken.is_empty() || self.has_news.load(Ordering::Acquire) {
            return Taken::Some;
        }
        state.driver = Some(context.waker().clone());
        if state.has_ended {
            Taken::Ended
        } else {
            Taken::Nothing
        }
    }

    /// The number of operations that wait for the driver.
    pub(in crate::redis) fn queued(&self) -> usize {
        self.state.lock().queue.len()
    }

    /// The driver goes on in another runtime, with what is queued. `owed` are releases of the connection that ended.
    pub(in crate::redis) fn moves(&self, owed: Vec<Owed>) {
        let mut state = self.state.lock();
        state.outstanding = state.queue.len();
        state.retried = 0;
        // Also if the node was dropped: the driver goes on until all is sent.
        state.owed.extend(owed);
    }

    /// Keeps a release that the server answered with an error.
    pub(in crate::redis) fn owe(&self, owed: Owed) {
        self.state.lock().owe(owed);
    }

    /// True if a release is owed that has not passed its ttl.
    pub(in crate::redis) fn owes(&self, now: Instant) -> bool {
        self.state.lock().owed.iter().any(|owed| owed.until > now)
    }

    /// Takes out at most `most` owed releases, the oldest first. Drops releases that have passed their
    /// ttl.
    pub(in crate::redis) fn take_owed_batch(&self, most: usize, now: Instant) -> Vec<Owed> {
        let mut state = self.state.lock();
        let most = most.min(state.owed.len());
        let taken: Vec<_> = state.owed.drain(..most).collect();
        state.still_owed(taken, now, &self.lost)
    }

    /// Takes out the owed releases that belong to another master of a Cluster.
    #[cfg(any(test, feature = "cluster"))]
    pub(in crate::redis) fn take_owed(
        &self,
        is_misplaced: impl Fn(&crate::node::Call) -> bool,
    ) -> Vec<Owed> {
        let mut state = self.state.lock();
        let owed = std::mem::take(&mut state.owed).into_iter();
        let (misplaced, kept): (Vec<_>, _) = owed.partition(|it| is_misplaced(&it.call));
        state.owed = kept.into();
        misplaced
    }

    /// An owed release that was sent again is answered.
    pub(in crate::redis) fn tried(&self) {
        let mut state = self.state.lock();
        state.retried = state.retried.saturating_sub(1);
    }

    /// Keeps these for the next connection.
    pub(in crate::redis) fn keep(&self, watches: Vec<Watch>) {
        for watch in watches {
            watch.report(KeyReport::Unknown);
            self.watch(watch);
        }
    }

    /// The server has sent a message, which says that these keys have changed.
    pub(in crate::redis) fn changed(&self, keys: Vec<Option<Arc<[u8]>>>) {
        let mut state = self.state.lock();
        state.changed.extend(keys);
        self.has_news.store(true, Ordering::Release);
        wake_driver(state);
    }

    /// What came since the last look.
    pub(in crate::redis) fn take_news(&self) -> Option<News> {
        if !self.has_news.swap(false, Ordering::AcqRel) {
            return None;
        }
        let mut state = self.state.lock();
        let watches = std::mem::take(&mut state.watches);
        Some((watches, std::mem::take(&mut state.changed)))
    }

    /// Stores the waker. True if the node was dropped.
    pub(in crate::redis) fn has_ended(&self, context: &Context<'_>) -> bool {
        let mut state = self.state.lock();
        state.driver = Some(context.waker().clone());
        state.has_ended
    }
}

/// The result of [`Inbox::take`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::redis) enum Taken {
    /// There are operations to send, or there is news.
    Some,
    Nothing,
    /// There is no operation, and none will come.
    Ended,
}

#[cfg(test)]
mod tests;
