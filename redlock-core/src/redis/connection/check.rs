//! The restart check of a node: asks the server on each connection, keeps the node from voting by the verdicts, and logs
//! what they change.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ::redis::cmd;
use tokio::time::Instant;
use tracing::warn;

use crate::env::{Clock, Moment, micros};
use crate::logging::{log_caught, log_node};
use crate::node::{Answer, Call, Effect, NodeError, NodeErrorKind, Value};
use crate::quorum::fencing::HINT_WINDOW;
use crate::redis::errors::garbled;
use crate::redis::inbox::Inbox;
use crate::redis::vetting::refused_server;
use crate::restart_check::{Action, CheckAnswer, MarkerWrite, NodeCheck, RestartCheck, Verdict};
use crate::targets;

use super::command::is_error;
use super::pipeline::{CommandPipeline, Purpose};

/// Sets the marker if it has the expected value, or is missing if none is given, and it is not too late. Returns the
/// time in µs and the marker.
const CHECK: &str = "\
    local time = redis.call('TIME') \
    local now = time[1] * 1000000 + time[2] \
    local marker = KEYS[1] ~= nil and redis.pcall('GET', KEYS[1]) \
    if type(marker) == 'table' then marker = 'of another type' end \
    if ARGV[1] and marker == (ARGV[3] or false) and now <= tonumber(ARGV[2]) then \
      marker = ARGV[1] \
      redis.call('SET', KEYS[1], marker) \
    end \
    return {now, marker}";

/// The restart check of one node, over all its connections.
pub(in crate::redis) struct ServerCheck {
    inbox: Arc<Inbox>,
    pub(in crate::redis) node_check: NodeCheck,
    clock: Arc<dyn Clock>,
    /// The id of the server of the present connection.
    run_id: Option<String>,
    /// The reason why the node must not vote. While there is one, a grant counts as not granted.
    quarantine: Option<NodeError>,
    /// The moment of the next question; `None` while the last one is unanswered.
    pub(super) at: Option<Instant>,
    /// The last logged reason for not voting, without figures. Empty while the node votes, and on a new connection: the
    /// line `node connected` came after it, and people would believe that the node votes.
    logged: String,
    /// True if the node's clock differs from this host's clock, which is logged.
    is_off: bool,
}

impl ServerCheck {
    /// Joins the checked set of the options, or a set of its own.
    pub(in crate::redis) fn new(inbox: &Arc<Inbox>, clock: Arc<dyn Clock>) -> Self {
        let (name, options) = (Arc::clone(&inbox.log.pool), &inbox.options);
        let peers = options.checked_set.clone().unwrap_or_default();
        let node_check = NodeCheck::new(peers, name, options.trust_aof);
        let asked = Arc::downgrade(inbox);
        node_check.on_doubt(Arc::new(move || {
            if let Some(inbox) = Weak::upgrade(&asked) {
                inbox.request_check();
            }
        }));
        Self {
            inbox: Arc::clone(inbox),
            node_check,
            clock,
            run_id: None,
            quarantine: None,
            at: None,
            logged: String::new(),
            is_off: false,
        }
    }

    /// The marker's key. Without a restart check the node has no marker.
    pub(in crate::redis) fn marker_key(&self) -> Option<Arc<[u8]>> {
        let peers = &self.node_check.peers;
        (peers.restart_check() != RestartCheck::Off).then(|| peers.marker_key().into())
    }

    /// Begins with a new connection, to the server `run_id`. The node is in the returned quarantine until the first
    /// answer.
    pub(super) fn begin_connection(&mut self, run_id: Option<&str>) -> NodeError {
        self.run_id = run_id.map(str::to_owned);
        self.logged.clear();
        self.at = None;
        let detail = "connected; its restart check is under way";
        let quarantine = NodeError::unsent(NodeErrorKind::NotConnected, detail);
        self.quarantine.insert(quarantine).clone()
    }

    /// Asks the server for its time and the marker, with the `write` that a verdict asked for, also if an earlier question
    /// is unanswered. What is sent after the question is answered after its verdict.
    pub(super) fn send_check(&mut self, write: Option<MarkerWrite>, pipe: &mut CommandPipeline) {
        self.at = None;
        // If there is no marker, the user needs no permission for its key.
        let key = self.marker_key();
        let mut question = cmd("EVAL");
        question
            .arg(CHECK)
            .arg(usize::from(key.is_some()))
            .arg(key.as_deref());
        if let Some(write) = write {
            let not_after = write.not_after.as_micros().to_string();
            question.arg(write.new).arg(not_after).arg(write.expected);
        }
        pipe.add(question, Purpose::Check(self.clock.now()));
        pipe.send();
    }

    /// Applies the answer to the question of the moment `asked` to the connection and the inbox. An error ends the
    /// connection.
    pub(super) fn apply_answer(
        &mut self,
        asked: Moment,
        value: &Value,
        pipe: &mut CommandPipeline,
    ) -> Result<(), NodeError> {
        let verdict = self.judge(asked, value)?;
        self.log_verdict(&verdict);
        let mut next = self.inbox.options.heartbeat;
        let (reason, is_settled) = match &verdict.action {
            Action::Vote => (None, true),
            Action::Write(_) => (Some(in_doubt()), false),
            Action::Refuse(reason) => (Some(refused_server(reason.as_str())), true),
            Action::Hold {
                reason,
                left,
                look_again,
                is_settled,
            } => {
                next = next.min(*look_again);
                let mut reason = NodeError::unsent(NodeErrorKind::Quarantined, &**reason);
                reason.quarantine_left = *left;
                (Some(reason), *is_settled)
            }
        };
        self.quarantine.clone_from(&reason);
        if verdict.is_new_epoch {
            // The gate is closed first, and listeners are called with no mutex held. A caller that rechecks a lease then
            // finds a node that grants nothing.
            self.inbox.quarantine(Some(in_doubt()), false);
            self.inbox.begin_epoch();
        }
        self.inbox.quarantine(reason, is_settled);
        match verdict.action {
            Action::Refuse(reason) => return Err(refused_server(reason)),
            Action::Write(write) => self.send_check(Some(write), pipe),
            Action::Vote | Action::Hold { .. } => {
                let at = pipe.heard + next;
                self.at = Some(at);
                pipe.ring_by(at);
            }
        }
        Ok(())
    }

    fn judge(&mut self, asked: Moment, value: &Value) -> Result<Verdict, NodeError> {
        let answered = self.clock.now();
        let (time, marker) = self.read(value)?;
        self.record_clock(time, answered.saturating_since(asked));
        let answer = CheckAnswer::new(time, asked, answered).marker(marker);
        let answer = answer.run_id(self.run_id.as_deref());
        self.node_check.check(&answer).map_err(refused_server)
    }

    /// The server's time and its marker, if it has one.
    fn read<'a>(&self, answer: &'a Value) -> Result<(Duration, Option<&'a [u8]>), NodeError> {
        let (micros, marker) = match answer {
            Value::Error(text) if is_error(answer, "NOPERM") => {
                return Err(refused_server(format!(
                    "`{}` refuses the restart check: {}; allow EVAL, TIME, GET and SET on the key \
                     `{}` in its ACL, or set `restart_check` to \"off\"",
                    self.inbox.log.pool,
                    NodeError::server(text),
                    self.node_check.peers.marker_key().escape_ascii(),
                )));
            }
            Value::Error(text) => return Err(NodeError::server(text)),
            Value::List(fields) => match &fields[..] {
                [Value::Int(micros), Value::Text(marker)] => (micros, Some(&**marker)),
                [Value::Int(micros), Value::Nil] => (micros, None),
                _ => return Err(garbled()),
            },
            _ => return Err(garbled()),
        };
        Ok((Duration::from_micros(micros.unsigned_abs()), marker))
    }

    /// Logs what the verdict changes. A quarantine is also logged again on a new connection.
    fn log_verdict(&mut self, verdict: &Verdict) {
        let node = &self.inbox.log;
        if let Some(by_ms) = verdict.stepped_ms {
            log_caught!(warn!(
                target: targets::NODE, pool = %node.pool, by_ms,
                "the node's clock stepped; it drops locks early or late",
            ));
        }
        let reason = match &verdict.action {
            Action::Vote => "",
            Action::Hold {
                reason,
                is_settled: true,
                ..
            } => reason,
            _ => return,
        };
        // The text after `;` is the remaining time, which makes no new reason.
        let kind = reason.split(';').next().unwrap_or(reason);
        if self.logged == kind {
            return;
        }
        kind.clone_into(&mut self.logged);
        if kind.is_empty() {
            log_node!(node, INFO, "node votes again");
        } else {
            log_node!(node, WARN, "node in quarantine; it does not vote until that ends", %reason);
        }
    }

    /// Records the node's clock, which showed `theirs`. Logs if it differs from this host's by more than a fencing hint
    /// may be off.
    fn record_clock(&mut self, theirs: Duration, round_trip: Duration) {
        let ours = self.clock.wall();
        let off = ours.abs_diff(theirs);
        let is_off = off > HINT_WINDOW + round_trip;
        if is_off && !self.is_off {
            let direction = if theirs > ours { "ahead of" } else { "behind" };
            let by_ms = u64::try_from(off.as_millis()).unwrap_or(u64::MAX);
            log_caught!(warn!(
                target: targets::NODE, pool = %self.inbox.log.pool, by_ms,
                "the node's clock is {direction} this host's; synchronize both by one time service",
            ));
        }
        self.is_off = is_off;
        // The server read its clock at some point of the round trip, most likely in the middle.
        let middle = ours.saturating_sub(round_trip / 2);
        let ahead_us = i64::try_from(micros(theirs) - micros(middle)).unwrap_or(i64::MAX);
        self.inbox.metrics.record_clock(ahead_us, round_trip / 2);
    }

    /// Asks at once: the node has lost its marker. Until the answer the node votes no.
    pub(super) fn check_at_once(&mut self, pipe: &mut CommandPipeline) {
        if self.quarantine.is_none() {
            self.quarantine = Some(in_doubt());
            self.inbox.quarantine(self.quarantine.clone(), false);
            self.send_check(None, pipe);
        }
    }

    /// Turns the reply of a node in quarantine to a call that takes or keeps a lock into an error: the node may have
    /// granted the same to another caller and forgotten it. The release still undoes a grant.
    pub(super) fn unless_quarantined(&self, call: &Call, answer: Answer) -> Answer {
        match (&self.quarantine, &answer) {
            (Some(error), Answer::Reply { .. })
                if !matches!(call.effect, Effect::Undoes(_) | Effect::Looks) =>
            {
                Answer::Failed(error.clone().into_sent())
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
