//! The restart check of a node, on a live connection.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::node::{Answer, Call, Effect, NodeError, NodeErrorKind, Value};
use crate::redis::restart_check::{ServerCheck, in_doubt};

use super::line::{Line, Purpose};

pub(super) struct Check {
    /// The node's restart check, if it has one.
    asker: Option<Arc<Mutex<ServerCheck>>>,
    /// The reason why the node must not vote. While there is one, a grant counts as not granted.
    quarantine: Option<NodeError>,
    /// The moment of the next question; `None` while a question is unanswered, or without a restart check.
    pub(super) at: Option<Instant>,
    /// True if the next question goes right behind the answer to the present one.
    asks_again: bool,
}

impl Check {
    /// In quarantine until the first answer.
    pub(super) fn new(server_check: Option<&Arc<Mutex<ServerCheck>>>) -> Self {
        Self {
            quarantine: server_check.map(|_| {
                let detail = "connected; its restart check is under way";
                NodeError::unsent(NodeErrorKind::NotConnected, detail)
            }),
            asker: server_check.cloned(),
            at: None,
            asks_again: false,
        }
    }

    pub(super) fn quarantine(&self) -> Option<NodeError> {
        self.quarantine.clone()
    }

    pub(super) fn ask(&mut self, line: &mut Line) {
        let Some(server_check) = &self.asker else {
            return;
        };
        self.at = None;
        line.ask(server_check.lock().question(), Purpose::Check);
    }

    /// Asks at once, or right behind the answer to a question that is under way.
    pub(super) fn ask_again(&mut self, line: &mut Line) {
        if self.at.is_some() {
            self.ask(line);
        } else {
            self.asks_again = true;
        }
    }

    /// Applies the result of a check to the connection and the inbox. An error ends the connection.
    pub(super) fn answered(&mut self, value: &Value, line: &mut Line) -> Result<(), NodeError> {
        let Some(server_check) = &self.asker else {
            return Ok(());
        };
        let outcome = server_check.lock().answer(value)?;
        line.inbox.metrics.read_clock(outcome.clock);
        self.quarantine.clone_from(&outcome.quarantine);
        if outcome.is_new_epoch {
            // The gate is closed first, and listeners are called with no mutex held. A caller that rechecks a lease then
            // finds a node that grants nothing.
            let closed = outcome.quarantine.clone().unwrap_or_else(in_doubt);
            line.inbox.quarantine(Some(closed), false);
            line.inbox.begin_epoch();
        }
        line.inbox
            .quarantine(outcome.quarantine, outcome.is_settled);
        let heartbeat = line.options.heartbeat;
        let next = outcome.look_again.map_or(heartbeat, |at| at.min(heartbeat));
        if next.is_zero() || std::mem::take(&mut self.asks_again) {
            self.ask(line);
        } else {
            let at = line.heard + next;
            self.at = Some(at);
            line.watch_by(at);
        }
        Ok(())
    }

    /// Asks at once: the node may have lost its marker. Until the answer the node votes no.
    pub(super) fn doubt(&mut self, line: &mut Line) {
        if self.at.is_none() {
            // There is no restart check, or a question is already sent.
            return;
        }
        if self.quarantine.is_none() {
            self.quarantine = Some(in_doubt());
            line.inbox.quarantine(Some(in_doubt()), false);
        }
        self.ask(line);
    }

    /// Turns the reply of a node in quarantine to a call that takes or keeps a lock into an error: the node may have
    /// granted the same to another caller and forgotten it. The release still undoes a grant.
    pub(super) fn as_far_as_it_counts(&self, call: &Call, answer: Answer) -> Answer {
        match (&self.quarantine, &answer) {
            (Some(error), Answer::Reply { .. })
                if !matches!(call.effect, Effect::Undoes(_) | Effect::Looks) =>
            {
                Answer::Failed(NodeError::sent(error.kind(), error.to_string()))
            }
            _ => answer,
        }
    }
}
