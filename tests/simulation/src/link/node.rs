//! A link as core sees it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::operation::{Operation, Want};
use redlock_core::Node;
use redlock_core::node::{
    Answer, EpochListener, NodeError, NodeErrorKind, NodeStatus, Submission, Watch,
};

use super::owed::{Owed, owed_until};
use super::{Gate, InFlight, Link, State};

/// When an answer has been out for so long, the node votes no at once.
const SUSPECT_AFTER: Duration = Duration::from_millis(200);

impl Link {
    /// Why nothing can be sent now, if so.
    fn refusal(&self, state: &State, is_release: bool) -> Option<NodeError> {
        match state.gate {
            Gate::Closed => {
                let kind = NodeErrorKind::NotConnected;
                return Some(NodeError::unsent(kind, "no connection"));
            }
            _ if is_release => return None,
            Gate::Holding => {
                let kind = NodeErrorKind::Quarantined;
                return Some(NodeError::unsent(kind, "it may have forgotten locks"));
            }
            Gate::Voting => {}
        }
        if state.in_flight.len() >= self.most_in_flight {
            return Some(NodeError::unsent(NodeErrorKind::Saturated, "too much"));
        }
        let now = self.world().now();
        let oldest = state.in_flight.front()?;
        (now.saturating_sub(oldest.since) >= SUSPECT_AFTER)
            .then(|| NodeError::unsent(NodeErrorKind::TimedOut, "an answer is overdue"))
    }
}

impl Node for Link {
    fn name(&self) -> &str {
        &self.name
    }

    fn submit(&self, submission: Submission) {
        if self.world().has_ended() {
            return;
        }
        let operation = Operation::of(&submission);
        let (history, seat) = (&self.around.history, self.server.seat);
        if history.submitting(self.process, seat, &operation) {
            self.expect_gone(&history.to_be_gone(&operation));
        }
        // Keys are seldom put back, and a release that overtakes that is what has to be seen.
        let times = if matches!(operation.want(), Want::Restore { .. }) {
            20
        } else {
            1
        };
        self.world().before_submit(self.process, times);
        let owed_until = owed_until(&operation, self.world().now());
        let refusal = {
            let mut state = self.lock();
            let refusal = self.refusal(&state, owed_until.is_some());
            match (&refusal, owed_until, state.wire.clone()) {
                (None, _, Some(wire)) => {
                    let one = InFlight {
                        operation,
                        submission: Some(submission),
                        since: self.world().now(),
                        epoch: self.epoch(),
                        owed_until: None,
                    };
                    self.send(&mut state, &wire, one);
                    return;
                }
                (_, Some(until), _) => state.owed.push_back(Owed { operation, until }),
                _ => {}
            }
            refusal
        };
        if let Some(error) = refusal {
            if error.kind() == NodeErrorKind::Quarantined {
                history.count(|coverage| coverage.quarantined += 1);
            }
            submission.answer(Answer::Failed(error));
        }
    }

    fn drained(&self) -> bool {
        let state = self.lock();
        state.in_flight.is_empty() && state.owed.is_empty()
    }

    fn status(&self) -> NodeStatus {
        match self.refusal(&self.lock(), false) {
            None => NodeStatus::Voting,
            Some(error) => NodeStatus::Abstaining(error),
        }
    }

    fn watch(&self, watch: Watch) {
        self.keep_watch(watch);
    }

    fn epoch(&self) -> u32 {
        self.epoch.load(Ordering::Relaxed)
    }

    fn on_new_epoch(&self, listener: EpochListener) {
        self.listeners.lock().push(listener);
    }
}
