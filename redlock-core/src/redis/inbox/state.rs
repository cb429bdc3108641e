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
    /// The reason why there is no connection, if there is none. Nothing is taken then.
    pub(super) closed: Option<NodeError>,
    /// The node may have forgotten locks, or was not checked yet. It votes no. Releases are still sent.
    pub(super) quarantine: Option<NodeError>,
    /// An answer is overdue. The node votes no. Releases are still sent, after the operations that they undo.
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

impl InboxState {
    pub(super) fn new() -> Self {
        let connecting = NodeError::unsent(NodeErrorKind::NotConnected, "not connected yet");
        Self {
            closed: Some(connecting),
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
        if is_release {
            return self.closed.clone();
        }
        self.objection(standing_after).or_else(|| {
            let detail = "too many operations are in flight";
            let saturated = || NodeError::unsent(NodeErrorKind::Saturated, detail);
            (self.outstanding >= max_in_flight).then(saturated)
        })
    }

    /// The reason why the node votes no. A quarantine precedes a suspicion, because a suspect node may vote again in a
    /// moment.
    pub(super) fn objection(&self, standing_after: Duration) -> Option<NodeError> {
        let known = self.closed.as_ref().or(self.quarantine.as_ref());
        let known = known.or(self.suspicion.as_ref()).cloned();
        known.or_else(|| self.stands(standing_after).then(standing))
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
    fn stands(&self, after: Duration) -> bool {
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

fn standing() -> NodeError {
    let detail =
        "the runtime on which the locks were initialized does not run: something blocks it";
    NodeError::unsent(NodeErrorKind::TimedOut, detail)
}
