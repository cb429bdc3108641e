//! A node's restart check in its driver: asks the server, and logs what the verdicts change.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ::redis::{Cmd, cmd};

use crate::env::caught::log;
use crate::env::{Clock, Moment, micros};
use crate::node::log::log_node;
use crate::node::{NodeError, Value};
use crate::quorum::fencing::HINT_WINDOW;
use crate::restart_check::{
    Action, CheckAnswer, CheckedSet, MarkerWrite, NodeCheck, RestartCheck, Verdict,
};

use super::errors::garbled;
use super::inbox::Inbox;
use super::vetting::refused;

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
pub(super) struct ServerCheck {
    inbox: Arc<Inbox>,
    node_check: NodeCheck,
    clock: Arc<dyn Clock>,
    /// The id of the server of the present connection.
    run_id: Option<String>,
    /// The last logged reason for not voting, without figures. Empty while the node votes, and on a new connection: the
    /// line `node connected` came after it, and people would believe that the node votes.
    logged: String,
    /// True if the node's clock differs from this host's clock, which is logged.
    is_off: bool,
}

impl ServerCheck {
    pub(super) fn new(
        inbox: &Arc<Inbox>,
        peers: &Arc<CheckedSet>,
        trust_aof: bool,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let node_check = NodeCheck::new(Arc::clone(peers), Arc::clone(&inbox.log.pool), trust_aof);
        let asked = Arc::downgrade(inbox);
        node_check.on_doubt(Arc::new(move || {
            if let Some(inbox) = Weak::upgrade(&asked) {
                inbox.doubt();
            }
        }));
        Self {
            inbox: Arc::clone(inbox),
            node_check,
            clock,
            run_id: None,
            logged: String::new(),
            is_off: false,
        }
    }

    /// The marker's key. Without a restart check the node has no marker.
    pub(super) fn marker_key(&self) -> Option<Arc<[u8]>> {
        let peers = &self.node_check.peers;
        (peers.restart_check() != RestartCheck::Off).then(|| peers.marker_key().into())
    }

    /// Records the server of a new connection.
    pub(super) fn connected(&mut self, run_id: Option<&str>) {
        self.run_id = run_id.map(str::to_owned);
        self.logged.clear();
    }

    /// Records that there is no connection.
    pub(super) fn unreachable(&mut self) {
        self.node_check.unreachable();
    }

    /// The question for the time and the marker, with the `write` that a verdict asked for; and the present moment.
    pub(super) fn question(&self, write: Option<MarkerWrite>) -> (Cmd, Moment) {
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
        (question, self.clock.now())
    }

    /// Evaluates the answer to the question of the moment `asked`. An error ends the connection.
    pub(super) fn answer(&mut self, asked: Moment, value: &Value) -> Result<Verdict, NodeError> {
        let answered = self.clock.now();
        let (time, marker) = self.read(value)?;
        self.read_clock(time, answered.saturating_since(asked));
        let verdict = self.node_check.check(&CheckAnswer {
            run_id: self.run_id.as_deref(),
            marker,
            time,
            asked,
            answered,
        });
        let verdict = verdict.map_err(refused)?;
        self.log(&verdict);
        Ok(verdict)
    }

    /// The server's time and its marker, if it has one.
    fn read<'a>(&self, answer: &'a Value) -> Result<(Duration, Option<&'a [u8]>), NodeError> {
        let fields = match answer {
            Value::List(fields) => &fields[..],
            Value::Error(text) if text.starts_with(b"NOPERM") => {
                return Err(refused(format!(
                    "`{}` refuses the restart check: {}; allow EVAL, TIME, GET and SET on the key \
                     `{}` in its ACL, or set `restart_check` to \"off\"",
                    self.inbox.log.pool,
                    NodeError::server(text),
                    self.node_check.peers.marker_key().escape_ascii(),
                )));
            }
            Value::Error(text) => return Err(NodeError::server(text)),
            _ => &[],
        };
        let (micros, marker) = match fields {
            [Value::Int(micros), Value::Text(marker)] => (micros, Some(&**marker)),
            [Value::Int(micros), Value::Nil] => (micros, None),
            _ => return Err(garbled()),
        };
        Ok((Duration::from_micros(micros.unsigned_abs()), marker))
    }

    /// Logs what the verdict changes. A quarantine is also logged again on a new connection.
    fn log(&mut self, verdict: &Verdict) {
        let node = &self.inbox.log;
        if let Some(by_ms) = verdict.stepped_ms {
            log!(
                warn, pool = %node.pool, by_ms,
                "the node's clock stepped; it drops locks early or late",
            );
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
    fn read_clock(&mut self, theirs: Duration, round_trip: Duration) {
        let ours = self.clock.wall();
        let off = ours.abs_diff(theirs);
        let is_off = off > HINT_WINDOW + round_trip;
        if is_off && !self.is_off {
            let direction = if theirs > ours { "ahead of" } else { "behind" };
            let by_ms = u64::try_from(off.as_millis()).unwrap_or(u64::MAX);
            log!(
                warn, pool = %self.inbox.log.pool, by_ms,
                "the node's clock is {direction} this host's; synchronize both by one time service",
            );
        }
        self.is_off = is_off;
        // The server read its clock at some point of the round trip, most likely in the middle.
        let middle = ours.saturating_sub(round_trip / 2);
        let ahead_us = i64::try_from(micros(theirs) - micros(middle)).unwrap_or(i64::MAX);
        self.inbox.metrics.read_clock(ahead_us, round_trip / 2);
    }
}
