//! Runs the restart check of a node. It asks the server on each connection, keeps the node from voting if a verdict
//! says so, and logs changes.

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

/// The script of the restart check. Returns the server's time in µs, and the marker.
///
/// With arguments, the script first writes a new marker, if the old one is as expected and it is not too late. ARGV:
/// the new marker, the latest time in µs, the expected marker (left out if the marker must be missing).
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

/// The restart check of a node, over all its connections.
pub(in crate::redis) struct ServerCheck {
    inbox: Arc<Inbox>,
    pub(in crate::redis) node_check: NodeCheck,
    clock: Arc<dyn Clock>,
    /// The `run_id` of the server on the current connection.
    run_id: Option<String>,
    /// The reason for the quarantine, if there is one. While it is set, a grant of the node counts as an error.
    quarantine: Option<NodeError>,
    /// The moment of the next question; `None` while a question is unanswered.
    pub(super) at: Option<Instant>,
    /// The last logged reason for a quarantine, without the remaining time. Empty while the node votes. A new
    /// connection clears the text, because the line `node connected` alone would suggest that the node votes.
    logged: String,
    /// True if the log says that the node's clock differs from this host's clock.
    is_off: bool,
}

impl ServerCheck {
    /// Creates the check, which joins the checked set of the options, or a set of its own.
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

    /// Returns the key of the marker; `None` if the restart check is off.
    pub(in crate::redis) fn marker_key(&self) -> Option<Arc<[u8]>> {
        let peers = &self.node_check.peers;
        (peers.restart_check() != RestartCheck::Off).then(|| peers.marker_key().into())
    }

    /// Prepares the check for a connection to the server `run_id`. Returns the quarantine that lasts until the server's
    /// first answer to the check.
    pub(super) fn begin_connection(&mut self, run_id: Option<&str>) -> NodeError {
        self.run_id = run_id.map(str::to_owned);
        self.logged.clear();
        self.at = None;
        let detail = "connected; its restart check is under way";
        let quarantine = NodeError::unsent(NodeErrorKind::NotConnected, detail);
        self.quarantine.insert(quarantine).clone()
    }

    /// Asks the server for its time and marker, and has it write a marker first if a verdict wants that `write`. An
    /// earlier question may be unanswered. Operations that are sent later are answered after the verdict of this
    /// question.
    pub(super) fn send_check(&mut self, write: Option<MarkerWrite>, pipe: &mut CommandPipeline) {
        self.at = None;
        // Without a marker the question names no key, so the user needs no permission for it.
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

    /// Applies the answer to the question that was asked at `asked`. The verdict sets the quarantine and the moment of
    /// the next question. An error ends the connection.
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
            // Close the gate before the listeners are called. A caller that then checks its lease finds a node that
            // grants nothing. No mutex is held while the listeners run.
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

    /// Reads the server's time, and its marker if it has one.
    fn read<'a>(&self, answer: &'a Value) -> Result<(Duration, Option<&'a [u8]>), NodeError> {
        let (micros, marker) = match answer {
            Value::Error(text) if is_error(answer, "NOPERM") => {
                let detail = format!(
                    "`{}` refuses the restart check: {}; allow EVAL, TIME, GET and SET on the key \
                     `{}` in its ACL, or set `restart_check` to \"off\"",
                    self.inbox.log.pool,
                    NodeError::server(text),
                    self.node_check.peers.marker_key().escape_ascii(),
                );
                return Err(NodeError::unsent(NodeErrorKind::Denied, detail));
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

    /// Logs a clock that stepped, and the start and end of a quarantine. A new connection logs its quarantine again.
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
        // The text after `;` is the remaining time. It changes while the reason stays.
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

    /// Records the node's clock, which showed `theirs`. Warns if it differs from ours by more than fencing hints allow.
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
        // The server has most likely read its clock in the middle of the round trip.
        let middle = ours.saturating_sub(round_trip / 2);
        let ahead_us = i64::try_from(micros(theirs) - micros(middle)).unwrap_or(i64::MAX);
        self.inbox.metrics.record_clock(ahead_us, round_trip / 2);
    }

    /// Asks the server at once, because the node has lost its marker. The node votes no until the answer. Does nothing
    /// if the node is in quarantine already.
    pub(super) fn check_at_once(&mut self, pipe: &mut CommandPipeline) {
        if self.quarantine.is_none() {
            self.quarantine = Some(in_doubt());
            self.inbox.quarantine(self.quarantine.clone(), false);
            self.send_check(None, pipe);
        }
    }

    /// Fails a call that takes or keeps a lock if the node is in quarantine. Such a node may have granted the same lock
    /// to another caller, and forgotten it. The call counts as sent, so its release still undoes a grant.
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

/// Returns the reason for a quarantine that lasts until the check is answered.
fn in_doubt() -> NodeError {
    let detail = "it may have forgotten locks; its restart check is under way";
    NodeError::unsent(NodeErrorKind::Quarantined, detail)
}
