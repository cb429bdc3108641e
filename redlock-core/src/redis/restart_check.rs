//! A node's restart check in its driver: asks the server, and logs what the verdicts change.

use std::sync::{Arc, Weak};
use std::time::Duration;

use ::redis::{Cmd, cmd};
use tokio::time::Instant;

use crate::env::caught::log;
use crate::env::{Clock, Moment};
use crate::node::log::log_node;
use crate::node::{NodeError, NodeErrorKind, Value};
use crate::quorum::fencing::HINT_WINDOW;
use crate::restart_check::{
    Action, CheckAnswer, CheckedSet, MarkerWrite, NodeCheck, RestartCheck, Verdict,
};

use super::inbox::Inbox;
use super::inbox::metrics::ClockReading;
use super::vetting::refused;

/// Sets the marker if it has the expected value, or is missing if none is given, and it is not too late. Returns the
/// time and the marker.
const CHECK: &str = "\
    local time = redis.call('TIME') \
    local marker = redis.pcall('GET', KEYS[1]) \
    if type(marker) == 'table' then marker = 'of another type' end \
    local now = time[1] * 1000 + math.floor(time[2] / 1000) \
    if ARGV[1] and marker == (ARGV[3] or false) and now <= tonumber(ARGV[2]) then \
      marker = ARGV[1] \
      redis.call('SET', KEYS[1], marker) \
    end \
    return {time[1], time[2], marker}";

/// The restart check of one node, over all its connections.
pub(super) struct ServerCheck {
    inbox: Arc<Inbox>,
    peers: Arc<CheckedSet>,
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
            peers: Arc::clone(peers),
            node_check,
            clock,
            run_id: None,
            logged: String::new(),
            is_off: false,
        }
    }

    /// True unless the restart check is off.
    pub(super) fn is_on(&self) -> bool {
        self.peers.restart_check() != RestartCheck::Off
    }

    /// The marker's key, if the node has a marker.
    pub(super) fn marker_key(&self) -> Option<Arc<[u8]>> {
        self.is_on().then(|| self.peers.marker_key().into())
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
        let question = if self.is_on() {
            let mut question = cmd("EVAL");
            question.arg(CHECK).arg(1).arg(self.peers.marker_key());
            if let Some(write) = write {
                let not_after = write.not_after.as_millis().to_string();
                question.arg(write.new).arg(not_after).arg(write.expected);
            }
            question
        } else {
            // There is no marker, so the user needs no permission for its key.
            cmd("TIME")
        };
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
        if let Value::Error(text) = answer {
            let error = NodeError::server(text);
            if !text.starts_with(b"NOPERM") {
                return Err(error);
            }
            return Err(refused(format!(
                "`{}` refuses the restart check: {error}; allow EVAL, TIME, GET and SET on the \
                 key `{}` in its ACL, or set `restart_check` to \"off\"",
                self.inbox.log.pool,
                self.peers.marker_key().escape_ascii(),
            )));
        }
        fields(answer).ok_or_else(|| {
            let detail = "the server's answer is not a valid answer to the restart check";
            NodeError::sent(NodeErrorKind::Protocol, detail)
        })
    }

    /// Logs what the verdict changes. A quarantine is also logged again on a new connection.
    fn log(&mut self, verdict: &Verdict) {
        let node = &self.inbox.log;
        if let Some(by_ms) = verdict.stepped_ms {
            log!(
                warn,
                pool = %node.pool, by_ms,
                "the node's clock stepped; it drops locks early or late",
            );
        }
        match &verdict.action {
            Action::Vote if !self.logged.is_empty() => {
                log_node!(node, INFO, "node votes again");
                self.logged.clear();
            }
            Action::Hold {
                reason,
                is_settled: true,
                ..
            } => {
                // The text after `;` is the remaining time, which makes no new reason.
                let kind = reason.split(';').next().unwrap_or(reason);
                if self.logged != kind {
                    log_node!(
                        node,
                        WARN,
                        "node in quarantine; it does not vote until that ends",
                        %reason
                    );
                    kind.clone_into(&mut self.logged);
                }
            }
            _ => {}
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
            log!(
                warn,
                pool = %self.inbox.log.pool, by_ms = u64::try_from(off.as_millis()).unwrap_or(u64::MAX),
                "the node's clock is {direction} this host's; synchronize both by one time service",
            );
        }
        self.is_off = is_off;
        // The server read its clock at some point of the round trip, most likely in the middle.
        let middle = ours.saturating_sub(round_trip / 2);
        let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        self.inbox.metrics.read_clock(ClockReading {
            ahead_us: micros(theirs).saturating_sub(micros(middle)),
            within: round_trip / 2,
            at: Instant::now(),
        });
    }
}

fn fields(answer: &Value) -> Option<(Duration, Option<&[u8]>)> {
    let number = |digits: &[u8]| std::str::from_utf8(digits).ok()?.parse().ok();
    let Value::List(fields) = answer else {
        return None;
    };
    let [Value::Text(seconds), Value::Text(micros), rest @ ..] = &fields[..] else {
        return None;
    };
    let seconds = Duration::from_secs(number(seconds)?);
    let marker = match rest {
        [Value::Text(marker)] => Some(&**marker),
        _ => None,
    };
    let micros = Duration::from_micros(number(micros)?);
    Some((seconds.saturating_add(micros), marker))
}
