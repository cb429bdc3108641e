//! The inbox, in which operations wait for the driver.

mod loan;
mod news;
mod owed;
mod state;
mod status;
mod submission;

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::runtime::Handle;
use tokio::sync::Notify;

use crate::env::caught::caught;
use crate::env::io_thread::LibraryTime;
#[cfg(test)]
use crate::env::tasks::by_hand;
use crate::node::Call;
use crate::node::log::NodeLog;
use crate::node::{Answer, EpochListener, NodeError, NodeErrorKind, Reply};
use crate::redis::connection::backoff::HasEnded;
use loan::Loan;
use news::standing;
use state::{Gate, InboxState};
pub(in crate::redis) use submission::{Owed, Submission};

use super::metrics::NodeMetrics;

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
    /// True if callers wait for keys, or the server has told of some, since the last look.
    has_news: AtomicBool,
    /// If the oldest call of the queue has waited for this long, the runtime of the driver stands still.
    standing_after: Option<Duration>,
}

impl Inbox {
    #[cfg(test)]
    pub(in crate::redis) fn new(name: Arc<str>, max_in_flight: usize) -> Self {
        let log = NodeLog::new(name, &by_hand().2);
        Self::of_part(log, max_in_flight, None, LibraryTime::default())
    }

    /// `news` is for a master of a Cluster: see [`NodeMetrics::new`].
    pub(in crate::redis) fn of_part(
        log: NodeLog,
        max_in_flight: usize,
        news: Option<Arc<Notify>>,
        time: LibraryTime,
    ) -> Self {
        let connecting = NodeError::unsent(NodeErrorKind::NotConnected, "not connected yet");
        Self {
            log,
            state: Mutex::new(InboxState {
                gate: Gate::Closed(connecting),
                is_connected: false,
                quarantine: None,
                suspicion: None,
                queue: Vec::new(),
                owed: VecDeque::new(),
                retried: 0,
                loan: Loan::default(),
                watches: Vec::new(),
                changed: Vec::new(),
                lost: HashSet::new(),
                oldest: None,
                outstanding: 0,
                driver: None,
                is_settled: false,
                has_ended: false,
            }),
            time,
            epoch: AtomicU32::new(0),
            listeners: Mutex::default(),
            metrics: NodeMetrics::new(news),
            settled: Notify::new(),
            has_news: AtomicBool::new(false),
            standing_after: None,
            max_in_flight,
        }
    }

    pub(in crate::redis) fn submit(&self, call: Arc<Call>, reply: Reply) {
        self.deliver(Submission::new(call, reply));
    }

    pub(in crate::redis) fn deliver(&self, submission: Submission) {
        let is_release = submission.call.is_release();
        let mut state = self.state.lock();
        let refusal = match &state.gate {
            Gate::Open if !is_release && self.stands(&state) => Some(standing()),
            Gate::Open if !is_release && state.outstanding >= self.max_in_flight => {
                let detail = "too many operations are in flight";
                Some(NodeError::unsent(NodeErrorKind::Saturated, detail))
            }
            Gate::Suspect(error) | Gate::Quarantined(error) if !is_release => Some(error.clone()),
            Gate::Open | Gate::Suspect(_) | Gate::Quarantined(_) => None,
            Gate::Closed(error) => Some(error.clone()),
        };
        if let Some(error) = refusal {
            if let Some(owed) = submission.owed(&self.time) {
                state.owe(owed);
            }
            drop(state);
            self.metrics.failed(error.kind(), 1);
            submission.reply.answer(Answer::Failed(error));
        } else {
            state.outstanding += 1;
            if state.queue.is_empty() && self.standing_after.is_some() {
                state.oldest = Some(std::time::Instant::now());
            }
            let recalled = state.loan.used();
            state.queue.push(submission);
            let driver = state.driver.take();
            drop(state);
            for driver in [driver, recalled].into_iter().flatten() {
                driver.wake();
            }
        }
    }

    pub(in crate::redis) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    pub(in crate::redis) fn on_new_epoch(&self, listener: EpochListener) {
        self.listeners.lock().push(listener);
    }

    /// Ends the inbox: no other operations come. The driver sends the queue and ends.
    pub(in crate::redis) fn end(&self) {
        let driver = {
            let mut state = self.state.lock();
            state.has_ended = true;
            state.driver.take()
        };
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    // The driver's side.

    /// Opens the gate of a new connection: the node votes from now on, unless it is in `quarantine`.
    /// Returns the releases that were owed before, which must be sent ahead of everything else.
    pub(in crate::redis) fn open(&self, quarantine: Option<NodeError>) -> Vec<Owed> {
        let now = self.time.now();
        self.metrics.connected(now);
        let owed = {
            let mut state = self.state.lock();
            state.is_connected = true;
            // In quarantine the node settles later: `settled` waits for the result of the check.
            state.is_settled |= quarantine.is_none();
            // A server that was refused stays refused until the restart check says otherwise.
            state.quarantine = quarantine.map(|looked_at| match &state.gate {
                Gate::Closed(error) if error.kind() == NodeErrorKind::Refused => error.clone(),
                _ => looked_at,
            });
            state.suspicion = None;
            state.set_gate();
            let owed = std::mem::take(&mut state.owed);
            state.retried = 0;
            state.still_owed(owed, now)
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
            state.set_gate();
        }
        self.settled.notify_waiters();
    }

    /// Ends the suspicion: the overdue answer came.
    pub(in crate::redis) fn trust(&self) {
        let mut state = self.state.lock();
        state.suspicion = None;
        state.set_gate();
    }

    /// Sets the reason why the node votes no. `None` ends the quarantine. `is_settled` has the meaning
    /// of [`Action::Hold`](crate::restart_check::Action::Hold).
    pub(in crate::redis) fn quarantine(&self, reason: Option<NodeError>, is_settled: bool) {
        {
            let mut state = self.state.lock();
            state.quarantine = reason;
            state.is_settled |= is_settled;
            state.set_gate();
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
            state.gate = Gate::Closed(error.clone());
            state.is_connected = false;
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
        for submission in queue {
            submission.reply.answer(Answer::Failed(error.clone()));
        }
    }

    /// Moves the queue into `taken`, which is empty, and subtracts `answered` from the outstanding
    /// operations. If the queue is empty, stores the waker.
    pub(in crate::redis) fn take(
        &self,
        taken: &mut Vec<Submission>,
        answered: usize,
        context: &Context<'_>,
    ) -> Taken {
        let mut state = self.state.lock();
        state.outstanding = state.outstanding.saturating_sub(answered);
        std::mem::swap(&mut state.queue, taken);
        if taken.is_empty() {
            state.driver = Some(context.waker().clone());
        }
        state.loan.is_idle = taken.is_empty();
        if !taken.is_empty() {
            Taken::Some
        } else if state.has_ended {
            Taken::Ended
        } else {
            Taken::Nothing
        }
    }

    /// Records that the connection is lent to the returned runtime. `None` if no runtime is to have it, or if
    /// operations came since the driver's last look: any caller may wait for them.
    pub(in crate::redis) fn lend(&self, driver: &Waker) -> Option<Handle> {
        let mut state = self.state.lock();
        if !state.queue.is_empty() {
            return None;
        }
        let runtime = state.loan.wanted.take()?;
        let may_have = state.loan.may_have(&runtime);
        if may_have {
            state.loan.lent(runtime.id(), driver.clone());
        }
        drop(state);
        may_have.then_some(runtime)
    }

    /// The number of operations that wait for the driver.
    pub(in crate::redis) fn queued(&self) -> usize {
        self.state.lock().queue.len()
    }

    #[cfg(test)]
    pub(in crate::redis) fn is_lent(&self) -> bool {
        self.state.lock().loan.is_lent()
    }

    /// True if the next poll of the driver lends the connection.
    #[cfg(test)]
    pub(in crate::redis) fn is_loan_wanted(&self) -> bool {
        self.state.lock().loan.wanted.is_some()
    }

    pub(in crate::redis) fn is_recalled(&self) -> bool {
        self.state.lock().loan.is_recalled
    }

    /// Records that the driver serves the connection again. `is_unsent` says that operations waited, and the
    /// task in the other runtime did not look.
    pub(in crate::redis) fn returned(&self, is_unsent: bool) {
        let before = self.state.lock().loan.returned(is_unsent);
        drop(before);
    }

    /// Records that the runtime which the connection was to be lent to watches no sockets.
    pub(in crate::redis) fn refused(&self) {
        let before = self.state.lock().loan.refused();
        drop(before);
    }

    /// Stores the waker. True if the node was dropped.
    pub(in crate::redis) fn has_ended(&self, context: &Context<'_>) -> HasEnded {
        let mut state = self.state.lock();
        state.driver = Some(context.waker().clone());
        HasEnded(state.has_ended)
    }
}

/// The result of [`Inbox::take`].
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::redis) enum Taken {
    /// There are operations to send.
    Some,
    Nothing,
    /// There is no operation, and none will come.
    Ended,
}

#[cfg(test)]
mod tests;
