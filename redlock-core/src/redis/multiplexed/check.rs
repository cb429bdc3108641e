//! The restart check of a node, on a live connection.

use tokio::time::Instant;

use crate::node::{Answer, Call, Effect, NodeError, NodeErrorKind, Value};

use super::actor::{Actor, Purpose};
use super::command::words;

impl Actor {
    /// Sends the restart check's question.
    pub(super) fn ask(&mut self) {
        let Some(server_check) = &self.server_check else {
            return;
        };
        self.check_at = None;
        let question = server_check.lock().question();
        let now = self.inbox.time.now();
        self.send(
            words(question.iter().map(Vec::as_slice)),
            now,
            Purpose::Check,
        );
    }

    /// Applies the result of a check to the connection and the inbox.
    pub(super) fn checked(&mut self, value: &Value) -> Result<(), NodeError> {
        let Some(server_check) = &self.server_check else {
            return Ok(());
        };
        let outcome = server_check.lock().answer(value)?;
        self.inbox.metrics.read_clock(outcome.clock);
        self.quarantine.clone_from(&outcome.quarantine);
        if outcome.is_new_epoch {
            // The gate is closed first, and listeners are told with no mutex held. A caller that
            // rechecks a lease then finds a node that grants nothing.
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
            let at: Instant = self.heard + next;
            self.check_at = Some(at);
            self.watch_by(at);
        }
        Ok(())
    }

    /// Asks if another node's check wants it, unless a question is unanswered.
    pub(super) fn ask_if_wanted(&mut self) {
        let is_wanted = self
            .server_check
            .as_ref()
            .is_some_and(|server_check| server_check.lock().is_wanted());
        if is_wanted && self.check_at.is_some() {
            self.ask();
        }
    }

    /// Asks at once: the node may have lost its marker. Until the answer the node votes no.
    pub(super) fn doubt(&mut self) {
        if self.server_check.is_none() || self.check_at.is_none() {
            // There is no restart check, or a question is already sent.
            return;
        }
        if self.quarantine.is_none() {
            self.quarantine = Some(in_doubt());
            self.inbox.quarantine(Some(in_doubt()), false);
        }
        self.ask();
    }

    /// Turns the reply of a node in quarantine to a call that takes or keeps a lock into an error: the node may
    /// have granted the same to another caller and forgotten it. The release still undoes a grant.
    pub(super) fn as_far_as_it_counts(&self, call: &Call, answer: Answer) -> Answer {
        match (&self.quarantine, &answer) {
            (Some(error), Answer::Reply { .. })
                if !matches!(call.effect(), Effect::Undoes(_) | Effect::Looks) =>
            {
                Answer::Failed(NodeError::sent(error.kind(), error.to_string()))
            }
            _ => answer,
        }
    }
}

fn in_doubt() -> NodeError {
    let detail = "it may have forgotten locks; its restart check is under way";
    NodeError::unsent(NodeErrorKind::Quarantined, detail)
}
