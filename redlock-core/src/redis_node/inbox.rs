//! Where operations wait for the driver.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::BytesMut;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::node::{Answer, NodeError, NodeErrorKind, NodeStatus, Reply};
use crate::operation::{Operation, SharedOperation, Want};

use super::command::{Dialect, encoded};
use super::connect::{Connected, Writer};

/// How many releases are remembered for a server that cannot be reached. Beyond that the oldest
/// are forgotten, and their keys go away at the ttl.
const MOST_OWED: usize = 65_536;

/// The way from the callers to the driver. Everything here returns at once.
pub(super) struct Inbox {
    state: Mutex<State>,
    /// Tells `settled` that the first attempt to connect is over.
    settled: Notify,
    max_in_flight: usize,
    /// See [`Node::epoch`](crate::Node::epoch).
    epoch: AtomicU32,
}

struct State {
    gate: Gate,
    queue: Vec<Submission>,
    /// The connection, for a caller to write to by itself while the driver has nothing to do: one
    /// thread less to wake on the way to the server.
    direct: Option<Direct>,
    /// What callers wrote by themselves, which the driver has not yet heard of.
    written: Vec<Submission>,
    /// The end of what a caller wrote, where the socket took only a part.
    unwritten: Vec<u8>,
    /// Releases that could not be delivered, or whose answer got lost.
    owed: VecDeque<Owed>,
    /// Submitted and not answered.
    outstanding: usize,
    /// The driver's waker, while it has nothing to do.
    driver: Option<Waker>,
    is_settled: bool,
    has_ended: bool,
}

enum Gate {
    /// Connected.
    Open,
    /// Connected, but an answer is overdue: votes no, except that releases go out behind what
    /// they undo.
    Suspect(NodeError),
    /// Not connected.
    Closed(NodeError),
}

/// See [`State::direct`].
struct Direct {
    writer: Arc<dyn Writer>,
    dialect: Dialect,
    /// The driver has written everything, hardly waits for an answer, and looks after overdue ones
    /// soon.
    is_calm: bool,
}

pub(super) struct Submission {
    /// When it was submitted: an answer is overdue counting from here.
    pub(super) since: Instant,
    pub(super) operation: SharedOperation,
    pub(super) reply: Reply,
}

/// A release that is still to be delivered, until the key is gone by itself.
pub(super) struct Owed {
    pub(super) operation: SharedOperation,
    pub(super) until: Instant,
}

impl Owed {
    /// `None` where `operation` is no release, and nothing is owed.
    pub(super) fn for_release(operation: &SharedOperation) -> Option<Self> {
        let Want::Release { ttl } = operation.want() else {
            return None;
        };
        // The ttl is below a year, but the sum is the library's to check.
        let until = Instant::now().checked_add(ttl)?;
        Some(Self {
            operation: Arc::clone(operation),
            until,
        })
    }
}

impl Inbox {
    pub(super) fn new(max_in_flight: usize) -> Self {
        let connecting = NodeError::unsent(NodeErrorKind::NotConnected, "not connected yet");
        Self {
            state: Mutex::new(State {
                gate: Gate::Closed(connecting),
                queue: Vec::new(),
                direct: None,
                written: Vec::new(),
                unwritten: Vec::new(),
                owed: VecDeque::new(),
                outstanding: 0,
                driver: None,
                is_settled: false,
                has_ended: false,
            }),
            epoch: AtomicU32::new(0),
            settled: Notify::new(),
            max_in_flight,
        }
    }

    pub(super) fn submit(&self, operation: Arc<Operation>, reply: Reply) {
        let is_release = matches!(operation.want(), Want::Release { .. });
        let mut state = self.lock();
        let refusal = match &state.gate {
            Gate::Open if !is_release && state.outstanding >= self.max_in_flight => {
                let detail = "too many operations are in flight";
                Some(NodeError::unsent(NodeErrorKind::Saturated, detail))
            }
            Gate::Suspect(error) if !is_release => Some(error.clone()),
            Gate::Open | Gate::Suspect(_) => None,
            Gate::Closed(error) => Some(error.clone()),
        };
        if let Some(error) = refusal {
            if let Some(owed) = Owed::for_release(&operation) {
                state.owe(owed);
            }
            drop(state);
            reply.answer(Answer::Failed(error));
        } else {
            state.outstanding += 1;
            let submission = Submission {
                since: Instant::now(),
                operation,
                reply,
            };
            let driver = match state.write(&submission) {
                Written::Nothing => {
                    state.queue.push(submission);
                    state.driver.take()
                }
                Written::Part => {
                    state.written.push(submission);
                    state.driver.take()
                }
                // The driver hears of it when the answer comes.
                Written::All => {
                    state.written.push(submission);
                    None
                }
            };
            drop(state);
            if let Some(driver) = driver {
                driver.wake();
            }
        }
    }

    pub(super) fn status(&self) -> NodeStatus {
        match &self.lock().gate {
            Gate::Open => NodeStatus::Voting,
            Gate::Suspect(error) | Gate::Closed(error) => NodeStatus::Abstaining(error.clone()),
        }
    }

    pub(super) async fn settled(&self) {
        loop {
            let settled = self.settled.notified();
            if self.lock().is_settled {
                return;
            }
            settled.await;
        }
    }

    pub(super) fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Acquire)
    }

    /// No more operations will come; the driver sends what is queued and ends.
    pub(super) fn end(&self) {
        let driver = {
            let mut state = self.lock();
            state.has_ended = true;
            state.driver.take()
        };
        if let Some(driver) = driver {
            driver.wake();
        }
    }

    // What follows is the driver's side.

    /// A connection is there: from here on it votes. Returns what is owed from before, to be sent
    /// ahead of everything else.
    pub(super) fn open(&self, connected: &Connected) -> Vec<Owed> {
        let now = Instant::now();
        let owed = {
            let mut state = self.lock();
            state.gate = Gate::Open;
            state.is_settled = true;
            state.direct = Some(Direct {
                writer: Arc::clone(&connected.writer),
                dialect: connected.dialect,
                is_calm: false,
            });
            std::mem::take(&mut state.owed)
        };
        self.settled.notify_waiters();
        owed.into_iter().filter(|owed| owed.until > now).collect()
    }

    /// An answer is overdue.
    pub(super) fn suspect(&self, overdue: Duration) {
        let detail = format!("no answer for {} ms", overdue.as_millis());
        let error = NodeError::unsent(NodeErrorKind::TimedOut, detail);
        self.lock().gate = Gate::Suspect(error);
    }

    /// The overdue answer came.
    pub(super) fn trust(&self) {
        self.lock().gate = Gate::Open;
    }

    /// There is no connection, for this reason. What is queued was never sent.
    pub(super) fn close(&self, error: &NodeError, owed: Vec<Owed>) {
        let queue = {
            let mut state = self.lock();
            state.gate = Gate::Closed(error.clone());
            state.is_settled = true;
            state.outstanding = 0;
            for owed in owed {
                state.owe(owed);
            }
            state.direct = None;
            state.unwritten.clear();
            let mut queue = std::mem::take(&mut state.written);
            queue.append(&mut state.queue);
            for submission in &queue {
                if let Some(owed) = Owed::for_release(&submission.operation) {
                    state.owe(owed);
                }
            }
            queue
        };
        self.settled.notify_waiters();
        for submission in queue {
            submission.reply.answer(Answer::Failed(error.clone()));
        }
    }

    /// Moves what is queued into `taken`, which is empty, and forgets `answered` operations.
    /// Leaves the waker where there is nothing, and lets a caller write where it `is_calm`.
    ///
    /// To be called when nothing is [`written`](Self::take_written) that the driver has not heard
    /// of; otherwise the order would be lost, and so it takes nothing then.
    pub(super) fn take(
        &self,
        taken: &mut Vec<Submission>,
        answered: usize,
        is_calm: bool,
        context: &Context<'_>,
    ) -> Taken {
        let mut state = self.lock();
        state.outstanding = state.outstanding.saturating_sub(answered);
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
        } else if state.has_ended {
            Taken::Ended
        } else {
            Taken::Nothing
        }
    }

    /// Moves what callers wrote by themselves into `taken`, which is empty, and what of it the
    /// socket did not take to the end of `output`. From here on callers leave the writing to the
    /// driver, until it says that it is calm again.
    pub(super) fn take_written(&self, taken: &mut Vec<Submission>, output: &mut BytesMut) {
        let mut state = self.lock();
        if let Some(direct) = &mut state.direct {
            direct.is_calm = false;
        }
        std::mem::swap(&mut state.written, taken);
        output.extend_from_slice(&state.unwritten);
        state.unwritten.clear();
    }

    /// Whether the node was dropped; otherwise leaves the waker.
    pub(super) fn has_ended(&self, context: &Context<'_>) -> HasEnded {
        let mut state = self.lock();
        state.driver = Some(context.waker().clone());
        HasEnded(state.has_ended)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing under this lock panics. The longest is a lone caller's write to the socket.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What [`Inbox::take`] found.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// Something to send.
    Some,
    Nothing,
    /// Nothing, and nothing will come any more.
    Ended,
    /// Something was written that the driver has to hear of first.
    Overtaken,
}

/// What became of a caller's own write.
enum Written {
    Nothing,
    Part,
    All,
}

/// Whether the node was dropped.
#[derive(Clone, Copy)]
pub(super) struct HasEnded(pub(super) bool);

impl State {
    /// Writes an operation to the connection at once, where the driver has nothing to do. With
    /// more than one operation under way the driver's batches are cheaper, and it keeps the order.
    fn write(&mut self, submission: &Submission) -> Written {
        let Some(direct) = self.direct.as_mut().filter(|direct| direct.is_calm) else {
            return Written::Nothing;
        };
        direct.is_calm = false;
        let bytes = encoded(&submission.operation, direct.dialect);
        match direct.writer.try_write(bytes) {
            Ok(0) | Err(_) => Written::Nothing,
            Ok(written) if written == bytes.len() => Written::All,
            Ok(written) => {
                self.unwritten.extend_from_slice(&bytes[written..]);
                Written::Part
            }
        }
    }

    fn owe(&mut self, owed: Owed) {
        if self.has_ended {
            // There will be no other connection.
            return;
        }
        if self.owed.len() == MOST_OWED {
            self.owed.pop_front();
        }
        self.owed.push_back(owed);
    }
}

#[cfg(test)]
mod tests;
