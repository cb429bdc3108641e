//! The restart check of a node, on a live connection.

use std::sync::Arc;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::env::Moment;
use crate::node::{Answer, Call, Effect, NodeError, NodeErrorKind, Value};
use crate::redis::restart_check::ServerCheck;
use crate::restart_check::{Action, MarkerWrite};

use super::line::{Line, Purpose};

pub(super) struct Check {
    /// The node's restart check, if it has one.
    asker: Option<Arc<Mutex<ServerCheck>>>,
    /// The reason why the node must not vote. While there is one, a grant counts as not granted.
    quarantine: Option<NodeError>,
    /// The moment of the next question; `None` while the last one is unanswered, or without a restart check.
    pub(super) at: Option<Instant>,
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
        }
    }

    pub(super) fn quarantine(&self) -> Option<NodeError> {
        self.quarantine.clone()
    }

    /// Asks the server, also if an earlier question is unanswered. What is sent after the question is answered after
    /// its verdict.
    pub(super) fn ask(&mut self, write: Option<MarkerWrite>, line: &mut Line) {
        if let Some(server_check) = &self.asker {
            self.at = None;
            let (question, asked) = server_check.lock().question(write);
            line.ask(question, Purpose::Check(asked));
        }
    }

    /// Applies the result of a check to the connection and the inbox. An error ends the connection.
    pub(super) fn answered(
        &mut self,
        asked: Moment,
        value: &Value,
        line: &mut Line,
    ) -> Result<(), NodeError> {
        let Some(server_check) = &self.asker else {
            return Ok(());
        };
        let verdict = server_check.lock().answer(asked, value)?;
        let mut next = line.inbox.options.heartbeat;
        let (reason, is_settled) = match &verdict.action {
            Action::Vote => (None, true),
            Action::Write(_) => (Some(in_doubt()), false),
            Action::Hold {
                reason,
                look_again,
                is_settled,
            } => {
                next = next.min(*look_again);
                let reason = NodeError::unsent(NodeErrorKind::Quarantined, &**reason);
                (Some(reason), *is_settled)
            }
        };
        self.quarantine.clone_from(&reason);
        if verdict.is_new_epoch {
            // The gate is closed first, and listeners are called with no mutex held. A caller that rechecks a lease then
            // finds a node that grants nothing.
            line.inbox.quarantine(Some(in_doubt()), false);
            line.inbox.begin_epoch();
        }
        line.inbox.quarantine(reason, is_settled);
        if let Action::Write(write) = verdict.action {
            self.ask(Some(write), line);
        } else {
            let at = line.heard + next;
            self.at = Some(at);
            line.watch_by(at);
        }
        Ok(())
    }

    /// Asks at once: the node has lost its marker. Until the answer the node votes no.
    pub(super) fn doubt(&mut self, line: &mut Line) {
        if self.quarantine.is_none() {
            self.quarantine = Some(in_doubt());
            line.inbox.quarantine(self.quarantine(), false);
            self.ask(None, line);
        }
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

/// The reason why a node does not vote until its check is answered.
fn in_doubt() -> NodeError {
    let detail = "it may have forgotten locks; its restart check is under way";
    NodeError::unsent(NodeErrorKind::Quarantined, detail)
}
