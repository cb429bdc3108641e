//! The restart check of a node, on a live connection.

use tokio::time::Instant;

use crate::node::operation::{Operation, Want};
use crate::node::{Answer, NodeError, NodeErrorKind};
use crate::redis::protocol::wire::Value;

use super::{Purpose, Serve};

impl Serve<'_> {
    /// Sends the restart check's question.
    pub(super) fn ask(&mut self) {
        let Some(server_check) = &mut self.server_check else {
            return;
        };
        self.check_at = None;
        self.output.extend_from_slice(&server_check.question());
        self.push(Instant::now(), Purpose::Check);
    }

    /// Does what the restart check makes of the answer to its question.
    pub(super) fn checked(&mut self, value: &Value<'_>) -> Result<(), NodeError> {
        let Some(server_check) = &mut self.server_check else {
            return Ok(());
        };
        let outcome = server_check.answer(value)?;
        self.inbox.metrics.read_clock(outcome.clock);
        self.quarantine.clone_from(&outcome.quarantine);
        if outcome.is_new_epoch {
            // Closed first, and told with nothing locked: who rechecks a lease then finds a node
            // that grants nothing.
            let closed = outcome.quarantine.clone().unwrap_or_else(in_doubt);
            self.inbox.quarantine(Some(closed), false);
            self.inbox.begin_epoch();
            self.epoch = self.inbox.epoch();
        }
        if let Some(refusal) = outcome.refusal {
            return Err(refusal);
        }
        self.inbox
            .quarantine(outcome.quarantine, outcome.is_settled);
        let heartbeat = self.options.heartbeat;
        let next = outcome.look_again.map_or(heartbeat, |at| at.min(heartbeat));
        if next.is_zero() {
            self.ask();
        } else {
            self.look_at(Instant::now() + next);
        }
        Ok(())
    }

    /// Asks where another node's check wants that, unless a question is out.
    pub(super) fn ask_if_wanted(&mut self) {
        let is_wanted = self
            .server_check
            .as_ref()
            .is_some_and(|server_check| server_check.is_wanted());
        if is_wanted && self.check_at.is_some() {
            // In the order in which it was written.
            self.hear_of_written();
            self.ask();
        }
    }

    /// The node may have lost its marker: it votes no until it was looked at, which is now.
    pub(super) fn doubt(&mut self) {
        if self.server_check.is_none() || self.check_at.is_none() {
            // A question is out already.
            return;
        }
        if self.quarantine.is_none() {
            self.quarantine = Some(in_doubt());
            self.inbox.quarantine(Some(in_doubt()), false);
        }
        self.ask();
    }

    /// The node's clock is not where this client took it to be. Unless that is known, one of the two
    /// has stepped since the last check.
    pub(super) fn look_at_clock(&mut self) {
        if self.check_at.is_some() && !self.inbox.metrics.is_clock_outlier() {
            self.ask();
        }
    }

    /// What a node in quarantine grants is no vote: it may have granted the same to another, and
    /// forgotten that. The release undoes it all the same.
    pub(super) fn as_far_as_it_counts(&self, operation: &Operation, answer: Answer) -> Answer {
        match (&self.quarantine, &answer) {
            (Some(error), Answer::Granted { .. })
                if !matches!(operation.want(), Want::Release { .. }) =>
            {
                Answer::Failed(NodeError::sent(error.kind(), error.to_string()))
            }
            _ => answer,
        }
    }

    fn look_at(&mut self, at: Instant) {
        self.check_at = Some(at);
        if self.watchdog.deadline() > at {
            self.watchdog.as_mut().reset(at);
        }
    }
}

fn in_doubt() -> NodeError {
    let detail = "it may have forgotten locks, and is being looked at";
    NodeError::unsent(NodeErrorKind::Quarantined, detail)
}
