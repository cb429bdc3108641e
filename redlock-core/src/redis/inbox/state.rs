//! The content of an inbox, and its gate.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;
use std::time::{Duration, Instant};

use parking_lot::MutexGuard;

use super::lost::LostAcquisitions;
use super::{Owed, Submission};
use crate::node::watch::Watch;
use crate::node::{NodeError, NodeErrorKind};

/// The most releases that are kept while the server does not take them. Beyond it the oldest are
/// dropped, and their keys expire at the ttl.
const MOST_OWED: usize = 65_536;

pub(super) struct InboxState {
    pub(super) gate: Gate,
    /// While this is true, `quarantine` and `suspicion` decide the gate.
    pub(super) is_connected: bool,
    pub(super) quarantine: Option<NodeError>,
    pub(super) suspicion: Option<NodeError>,
    pub(super) queue: Vec<Submission>,
    /// Releases that could not be sent, lost their answer, or were answered with an error.
    pub(super) owed: VecDeque<Owed>,
    /// The number of owed releases that the driver has sent again, and that are not answered.
    pub(super) retried: usize,
    /// Callers that wait for keys, which the driver does not know yet.
    pub(super) watches: Vec<Watch>,
    /// Keys that the server says have changed; `None` for all.
    pub(super) changed: Vec<Option<Arc<[u8]>>>,
    /// When the oldest call of the queue came.
    pub(super) oldest: Option<Instant>,
    /// The number of operations that were submitted and not answered.
    pub(super) outstanding: usize,
    /// The driver's waker, while it has nothing to do.
    pub(super) driver: Option<Waker>,
    pub(super) is_settled: bool,
    /// True once the node was dropped. Submitted operations are still sent.
    pub(super) has_ended: bool,
}

pub(super) enum Gate {
    /// Connected.
    Open,
    /// Connected, but an answer is overdue. The node votes no. Releases are still sent, after the
    /// operations that they undo.
    Suspect(NodeError),
    /// Connected, but the node may have forgotten locks, or was not checked yet. The node votes no.
    /// Releases are still sent.
    Quarantined(NodeError),
    /// Not connected.
    Closed(NodeError),
}

impl InboxState {
    pub(super) fn new() -> Self {
        let connecting = NodeError::unsent(NodeErrorKind::NotConnected, "not connected yet");
        Self {
            gate: Gate::Closed(connecting),
            is_connected: false,
            quarantine: None,
            suspicion: None,
            queue: Vec::new(),
            owed: VecDeque::new(),
            retried: 0,
            watches: Vec::new(),
            changed: Vec::new(),
            oldest: None,
            outstanding: 0,
            driver: None,
            is_settled: false,
            has_ended: false,
        }
    }

    /// The reason why an operation is not queued.
    pub(super) fn refusal(
        &self,
        is_release: bool,
        standing_after: Duration,
        max_in_flight: usize,
    ) -> Option<NodeError> {
        match &self.gate {
            Gate::Closed(error) => Some(error.clone()),
            _ if is_release => None,
            Gate::Suspect(error) | Gate::Quarantined(error) => Some(error.clone()),
            Gate::Open if self.stands(standing_after) => Some(standing()),
            Gate::Open if self.outstanding >= max_in_flight => {
                let detail = "too many operations are in flight";
                Some(NodeError::unsent(NodeErrorKind::Saturated, detail))
            }
            Gate::Open => None,
        }
    }

    /// Sets the gate of a connected node. A quarantine precedes a suspicion, because a suspect node may
    /// vote again in a moment.
    pub(super) fn set_gate(&mut self) {
        if !self.is_connected {
            return;
        }
        self.gate = match (&self.quarantine, &self.suspicion) {
            (Some(error), _) => Gate::Quarantined(error.clone()),
            (None, Some(error)) => Gate::Suspect(error.clone()),
            (None, None) => Gate::Open,
        };
    }

    /// Keeps the owed releases that have not passed their ttl.
    pub(super) fn still_owed(
        &mut self,
        owed: impl IntoIterator<Item = Owed>,
        now: tokio::time::Instant,
        lost: &LostAcquisitions,
    ) -> Vec<Owed> {
        let owed = owed.into_iter();
        let (kept, over): (Vec<_>, Vec<_>) = owed.partition(|owed| owed.until > now);
        for owed in over {
            lost.forget_that_of(&owed.call);
        }
        self.retried += kept.len();
        kept
    }

    /// True if the driver has not looked at the oldest call of the queue for `after`.
    pub(super) fn stands(&self, after: Duration) -> bool {
        let stands = |oldest: Instant| oldest.elapsed() >= after;
        !self.queue.is_empty() && self.oldest.is_some_and(stands)
    }

    pub(super) fn owe(&mut self, owed: Owed) {
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

/// Wakes the driver once the mutex is unlocked.
pub(super) fn wake_driver(mut state: MutexGuard<'_, InboxState>) {
    let driver = state.driver.take();
    drop(state);
    if let Some(driver) = driver {
        driver.wake();
    }
}

pub(super) fn standing() -> NodeError {
    let detail =
        "the runtime on which the locks were initialized does not run: something blocks it";
    NodeError::unsent(NodeErrorKind::TimedOut, detail)
}
