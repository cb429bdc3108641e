//! The inbox, in which operations wait for the driver.

mod owed;
mod part;
mod retired;
mod state;
mod status;
mod submission;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::BytesMut;
use parking_lot::Mutex;
use tokio::runtime::{self, Handle};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::env::caught::caught;
use crate::node::operation::{Operation, Want};
use crate::node::{Answer, EpochListener, NodeError, NodeErrorKind, Reply};
use crate::redis::connection::backoff::HasEnded;
use crate::redis::connection::writer::Writer;
use crate::redis::protocol::command::Encoding;
pub(in crate::redis) use part::{Part, Redirected, Way, WholeCluster};
use state::{Direct, Gate, InboxEnd, InboxState, Written};
pub(in crate::redis) use submission::{Owed, Route, Submission};

use super::metrics::NodeMetrics;

/// Passes operations from the callers to the driver. Every call returns at once.
pub(in crate::redis) struct Inbox {
    /// The pool's name, for the log.
    pub(in crate::redis) name: Arc<str>,
    /// Locked longest while a lone caller writes to the socket.
    state: Mutex<InboxState>,
    /// Wakes `settled`: the first attempt to connect may be over.
    settled: Notify,
    /// Notified again and again while an answer is overdue, and by sentinels' messages: the server may
    /// no longer be the node's server.
    doubts: Arc<Notify>,
    max_in_flight: usize,
    /// See [`Node::epoch`](crate::Node::epoch).
    epoch: AtomicU32,
    listeners: Mutex<Vec<EpochListener>>,
    pub(in crate::redis) metrics: NodeMetrics,
    /// The server as a part of a Cluster, if it is one.
    part: Option<Part>,
}

impl Inbox {
    /// The inbox of a server outside of a Cluster.
    #[cfg(test)]
    pub(in crate::redis) fn new(name: Arc<str>, max_in_flight: usize) -> Self {
        Self::of_part(name, max_in_flight, None)
    }

    pub(super) fn of_part(name: Arc<str>, max_in_flight: usize, part: Option<Part>) -> Self {
        let connecting = NodeError::unsent(NodeErrorKind::NotConnected, "not connected yet");
        Self {
            name,
            state: Mutex::new(InboxState {
                gate: Gate::Closed(connecting),
                is_connected: false,
                quarantine: None,
                suspicion: None,
                queue: Vec::new(),
                direct: None,
                written: Vec::new(),
                unwritten: Vec::new(),
                owed: VecDeque::new(),
                streak: None,
                lent: None,
                is_recalled: false,
                wish: None,
                outstanding: 0,
                driver: None,
                is_settled: false,
                end: None,
            }),
            part,
            epoch: AtomicU32::new(0),
            listeners: Mutex::default(),
            metrics: NodeMetrics::new(),
            settled: Notify::new(),
            doubts: Arc::default(),
            max_in_flight,
        }
    }

    pub(in crate::redis) fn submit(&self, operation: Arc<Operation>, reply: Reply) {
        // Only a Cluster's part is retired, and the Cluster calls `deliver`.
        let _ = self.deliver(Submission::new(operation, reply, Route::default()));
    }

    /// Returns the submission if the server is retired from its Cluster.
    pub(in crate::redis) fn deliver(&self, submission: Submission) -> Result<(), Submission> {
        let (operation, route) = (&submission.operation, submission.route);
        let is_release = matches!(operation.want(), Want::Release { .. });
        let mut state = self.state.lock();
        if state.is_retired() {
            return Err(submission);
        }
        // Checked under the mutex: a release that is submitted after this check is also queued after
        // the operation.
        let is_late =
            route.hops > 0 && operation.want().is_acquisition() && submission.reply.is_retracted();
        let refusal = match &state.gate {
            _ if is_late => {
                let detail = "the keys' slot moved, and the caller has stopped waiting";
                Some(NodeError::unsent(NodeErrorKind::Server, detail))
            }
            Gate::Open if !is_release && state.outstanding >= self.max_in_flight => {
                let detail = "too many operations are in flight";
                Some(NodeError::unsent(NodeErrorKind::Saturated, detail))
            }
            Gate::Suspect(error) | Gate::Quarantined(error) if !is_release => Some(error.clone()),
            Gate::Open | Gate::Suspect(_) | Gate::Quarantined(_) => None,
            Gate::Closed(error) => Some(error.clone()),
        };
        if let Some(error) = refusal {
            if let Some(owed) = Owed::for_release(operation, route) {
                state.owe(owed);
            }
            drop(state);
            self.metrics.failed(error.kind(), 1);
            submission.reply.answer(Answer::Failed(error));
        } else {
            state.outstanding += 1;
            let recalled = state.recall();
            let driver = match state.write(&submission) {
                Written::Nothing => {
                    state.queue.push(submission);
                    state.driver.take()
                }
                Written::Part => {
                    state.written.push(submission);
                    state.driver.take()
                }
                // The driver learns of the operation when the answer comes.
                Written::All => {
                    state.written.push(submission);
                    None
                }
            };
            drop(state);
            for driver in [driver, recalled].into_iter().flatten() {
                driver.wake();
            }
        }
        Ok(())
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
            state.end.get_or_insert(InboxEnd::Dropped);
            state.driver.take()
        };
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    // The driver's side.

    /// Opens the gate of a new connection: the node votes from now on, unless it is in `quarantine`.
    /// Returns the releases that were owed before, which must be sent ahead of everything else.
    pub(super) fn open(
        &self,
        writer: &Arc<dyn Writer>,
        encoding: &Encoding,
        quarantine: Option<NodeError>,
    ) -> Vec<Owed> {
        let now = Instant::now();
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
            state.direct = Some(Direct {
                writer: Arc::clone(writer),
                encoding: encoding.clone(),
                is_calm: false,
            });
            std::mem::take(&mut state.owed)
        };
        self.settled.notify_waiters();
        owed.into_iter().filter(|owed| owed.until > now).collect()
    }

    /// Makes the node suspect: an answer is overdue.
    pub(super) fn suspect(&self, overdue: Duration) {
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
        self.doubts.notify_one();
        self.alarm();
    }

    /// See the field. Only one task may wait on it.
    pub(super) fn doubts(&self) -> &Arc<Notify> {
        &self.doubts
    }

    /// Ends the suspicion: the overdue answer came.
    pub(in crate::redis) fn trust(&self) {
        let mut state = self.state.lock();
        state.suspicion = None;
        state.set_gate();
    }

    /// Sets the reason why the node votes no. `None` ends the quarantine. `is_settled` has the meaning
    /// of [`Action::Hold`](crate::restart_check::Action::Hold).
    pub(super) fn quarantine(&self, reason: Option<NodeError>, is_settled: bool) {
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
    pub(super) fn begin_epoch(&self) {
        self.epoch.fetch_add(1, Ordering::AcqRel);
        let listeners = self.listeners.lock().clone();
        for tell in listeners {
            caught("a listener to epochs", &*tell);
        }
    }

    /// Closes the gate: there is no connection, for the reason `error`. `owed` are releases from the
    /// connection that ended. The operations in the queue were never sent.
    pub(super) fn close(&self, error: &NodeError, owed: Vec<Owed>) {
        self.metrics.disconnected(error);
        let (written, queue) = {
            let mut state = self.state.lock();
            if !state.is_retired() {
                state.gate = Gate::Closed(error.clone());
            }
            state.is_connected = false;
            state.is_settled = true;
            state.outstanding = 0;
            for owed in owed {
                state.owe(owed);
            }
            state.direct = None;
            state.unwritten.clear();
            let written = std::mem::take(&mut state.written);
            let queue = std::mem::take(&mut state.queue);
            for submission in written.iter().chain(&queue) {
                if let Some(owed) = Owed::for_release(&submission.operation, submission.route) {
                    state.owe(owed);
                }
            }
            (written, queue)
        };
        self.settled.notify_waiters();
        self.metrics
            .failed(error.kind(), written.len() + queue.len());
        // Before the answers: a caller that gets an answer may send to the successor next.
        self.hand_over_owed();
        // An operation that a caller wrote may have been served. The error says so, and the caller
        // undoes the operation.
        let sent = error.clone().into_sent();
        for submission in written {
            submission.reply.answer(Answer::Failed(sent.clone()));
        }
        for submission in queue {
            submission.reply.answer(Answer::Failed(error.clone()));
        }
        self.alarm();
    }

    /// Moves the queue into `taken`, which is empty, and subtracts `answered` from the outstanding
    /// operations. If the queue is empty, stores the waker, and lets a caller write if the driver
    /// `is_calm`.
    ///
    /// Takes nothing while callers' writes wait for [`take_written`](Self::take_written): the driver
    /// must record them first, to keep the order of the answers.
    pub(in crate::redis) fn take(
        &self,
        taken: &mut Vec<Submission>,
        answered: usize,
        is_calm: bool,
        context: &Context<'_>,
    ) -> Taken {
        let mut state = self.state.lock();
        state.outstanding = state.outstanding.saturating_sub(answered);
        if state.is_retired() {
            return Taken::Retired;
        }
        if !state.written.is_empty() {
            return Taken::Overtaken;
        }
        std::mem::swap(&mut state.queue, taken);
        if taken.is_empty() {
            state.driver = Some(context.waker().clone());
        }
        let is_calm = is_calm && taken.is_empty();
        if let Some(direct) = &mut state.direct {
            direct.is_calm = is_calm;
        }
        if !taken.is_empty() {
            Taken::Some
        } else if state.end.is_some() {
            Taken::Ended
        } else {
            Taken::Nothing
        }
    }

    /// Moves the operations that callers wrote into `taken`, which is empty, and the bytes that the
    /// socket did not accept to the end of `output`. From then on callers leave the writing to the
    /// driver, until the driver is calm again.
    pub(super) fn take_written(&self, taken: &mut Vec<Submission>, output: &mut BytesMut) {
        let mut state = self.state.lock();
        if let Some(direct) = &mut state.direct {
            direct.is_calm = false;
        }
        std::mem::swap(&mut state.written, taken);
        output.extend_from_slice(&state.unwritten);
        state.unwritten.clear();
    }

    /// The runtime to lend the connection to.
    pub(super) fn wish(&self) -> Option<Handle> {
        self.state.lock().wish.take()
    }

    pub(super) fn lent(&self, to: runtime::Id, driver: &Waker) {
        let mut state = self.state.lock();
        state.lent = Some((to, driver.clone()));
        state.is_recalled = false;
    }

    pub(super) fn is_recalled(&self) -> bool {
        self.state.lock().is_recalled
    }

    pub(super) fn returned(&self) {
        let mut state = self.state.lock();
        state.lent = None;
        state.streak = None;
        state.wish = None;
        state.is_recalled = false;
    }

    /// Stores the waker. True if the node was dropped, or the server retired.
    pub(in crate::redis) fn has_ended(&self, context: &Context<'_>) -> HasEnded {
        let mut state = self.state.lock();
        state.driver = Some(context.waker().clone());
        HasEnded(state.end.is_some())
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
    /// A caller wrote an operation, which the driver must record first.
    Overtaken,
    /// The server is no longer a part of its Cluster.
    Retired,
}

#[cfg(test)]
mod tests;
