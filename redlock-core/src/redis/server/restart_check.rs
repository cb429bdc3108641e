//! A node's restart check in its driver: the question on the wire, the result, and the log.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

use crate::env::caught::log;
use crate::env::{Clock, Moment};
use crate::node::{NodeError, NodeErrorKind};
use crate::redis::connection::vetting::{Facts, refused};
use crate::redis::protocol::wire::{Digits, Value, pack};
use crate::restart_check::{
    Action, CLOCK_WINDOW, CheckAnswer, CheckedSet, NodeCheck, NodeCheckOptions, RestartCheck,
};

use super::metrics::ClockReading;

/// The time until the next check of a node that did not take its marker.
const NOT_TAKEN: Duration = Duration::from_millis(250);

/// Sets the marker if it has the expected value and it is not too late. Returns the time and the
/// marker. `-` stands for a missing marker, `=` precedes the value of an existing one. The marker's
/// second version is the second line of its text, and has a key of its own: a process that knows only
/// the first version takes any other text for garbage. A user without access to that key does without
/// the second version.
const CHECK: &str = "\
    local time = redis.call('TIME') \
    local second = KEYS[1] .. ':2' \
    local marker = redis.pcall('GET', KEYS[1]) \
    if type(marker) == 'table' then marker = 'of another type' end \
    local more = marker and redis.pcall('GET', second) \
    if type(more) == 'string' then marker = marker .. '\\n' .. more end \
    local found = marker and '=' .. marker or '-' \
    local now = time[1] * 1000 + math.floor(time[2] / 1000) \
    if ARGV[1] and found == ARGV[1] and now <= tonumber(ARGV[3]) then \
      marker = ARGV[2] \
      local line, more = string.match(marker, '^([^\\n]*)\\n(.*)$') \
      redis.call('SET', KEYS[1], line or marker) \
      if more then redis.pcall('SET', second, more) end \
    end \
    return {time[1], time[2], marker}";

/// The restart check of one node, over all its connections.
pub(super) struct ServerCheck {
    pool: Arc<str>,
    peers: Arc<CheckedSet>,
    node_check: NodeCheck,
    clock: Arc<dyn Clock>,
    /// The id of the server of the present connection.
    run_id: Option<String>,
    /// How long it had been up, and when it said so.
    uptime: Option<(Duration, Moment)>,
    /// The write of the next question.
    write: Option<Write>,
    /// The write of the last question.
    written: Option<Write>,
    /// The checked set's doubts at the last question.
    doubts: u64,
    /// The moment of the last question.
    asked: Moment,
    is_voting: bool,
    /// The last logged reason for not voting, without figures. Empty while the node votes.
    logged: String,
    warned: Vec<String>,
    waker: Option<Waker>,
    logged_clock: LoggedClock,
    /// The last logged disagreement with the settings of other processes.
    disagreement: Option<String>,
}

/// The state of the server's clock as it was logged last.
#[derive(Default)]
struct LoggedClock {
    /// True if it differs from this host's clock.
    is_off: bool,
    /// True if it differs from the other nodes' clocks.
    is_outlier: bool,
}

struct Write {
    expected: Option<Vec<u8>>,
    new: Vec<u8>,
    not_after: Duration,
}

/// The result of a check, for the connection.
pub(super) struct CheckOutcome {
    /// The error with which the connection must end.
    pub(super) refusal: Option<NodeError>,
    /// The reason why the node must not vote; `None` if it may.
    pub(super) quarantine: Option<NodeError>,
    pub(super) is_settled: bool,
    pub(super) is_new_epoch: bool,
    /// The time until the next check; `None` for a heartbeat.
    pub(super) look_again: Option<Duration>,
    pub(super) clock: ClockReading,
}

impl ServerCheck {
    pub(super) fn new(
        pool: &Arc<str>,
        peers: &Arc<CheckedSet>,
        trust_aof: bool,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let options = NodeCheckOptions { trust_aof };
        Self {
            pool: Arc::clone(pool),
            peers: Arc::clone(peers),
            node_check: NodeCheck::new(Arc::clone(peers), Arc::clone(pool), options),
            asked: clock.now(),
            clock,
            run_id: None,
            uptime: None,
            write: None,
            written: None,
            doubts: peers.doubts(),
            is_voting: false,
            logged: String::new(),
            warned: Vec::new(),
            waker: None,
            logged_clock: LoggedClock::default(),
            disagreement: None,
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

    /// Records the server of a new connection, and logs its new warnings.
    pub(super) fn connected(&mut self, facts: Facts, warnings: Vec<String>) {
        self.run_id = facts.run_id;
        self.uptime = facts.uptime.map(|uptime| (uptime, self.clock.now()));
        self.write = None;
        for warning in &warnings {
            if !self.warned.contains(warning) {
                log!(warn, pool = %self.pool, "{warning}");
            }
        }
        self.warned = warnings;
    }

    /// Records that there is no connection.
    pub(super) fn unreachable(&mut self) {
        self.node_check.unreachable();
        self.is_voting = false;
    }

    /// True if another node's check wants this node to be asked too.
    pub(super) fn is_wanted(&self) -> bool {
        self.peers.doubts() != self.doubts
    }

    /// Sets the waker of the driver, for the moment when another node's check wants this node to be
    /// asked.
    pub(super) fn wake(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|it| it.will_wake(waker)) {
            self.waker = Some(waker.clone());
            self.node_check.wake_on_doubt(waker.clone());
        }
    }

    /// The bytes of the next question.
    pub(super) fn question(&mut self) -> Vec<u8> {
        self.doubts = self.peers.doubts();
        self.asked = self.clock.now();
        if !self.is_on() {
            // There is no marker, so the user needs no permission for its key.
            return pack([&b"TIME"[..]].into_iter());
        }
        let key = self.peers.marker_key();
        let head: [&[u8]; 4] = [b"EVAL", CHECK.as_bytes(), b"1", key];
        self.written = self.write.take();
        let Some(write) = &self.written else {
            return pack(head.into_iter());
        };
        let expected = match &write.expected {
            Some(expected) => [b"=".as_slice(), expected].concat(),
            None => b"-".to_vec(),
        };
        let not_after = u64::try_from(write.not_after.as_millis()).unwrap_or(u64::MAX);
        let not_after = Digits::of(not_after);
        let tail: [&[u8]; 3] = [&expected, &write.new, not_after.as_bytes()];
        pack(head.into_iter().chain(tail))
    }

    /// True if the last question should have replaced the present marker.
    fn has_left(&self, marker: Option<&[u8]>) -> bool {
        let written = self.written.as_ref();
        written.is_some_and(|write| write.expected.as_deref() == marker)
    }

    /// Evaluates the answer to the last question. An error ends the connection.
    pub(super) fn answer(&mut self, value: &Value<'_>) -> Result<CheckOutcome, NodeError> {
        let (time, marker) = self.read(value)?;
        let answered = self.clock.now();
        let round_trip = answered.saturating_since(self.asked);
        let mut clock = self.compare_with_wall(time, round_trip);
        let doubts = self.peers.doubts();
        let started = self.uptime.map(|(uptime, said)| {
            time.saturating_sub(uptime.saturating_add(answered.saturating_since(said)))
        });
        let verdict = self.node_check.check(&CheckAnswer {
            run_id: self.run_id.as_deref(),
            started,
            marker,
            time,
            asked: self.asked,
            answered,
        });
        // The next question carries this write.
        self.write = verdict.settings_write.map(|settings_write| Write {
            expected: Some(settings_write.expected),
            new: settings_write.new,
            not_after: Duration::MAX,
        });
        if verdict.disagreement != self.disagreement {
            if let Some(text) = &verdict.disagreement {
                log!(warn, pool = %self.pool, "{text}");
            }
            self.disagreement = verdict.disagreement;
        }
        // Doubts that this check raised concern the other nodes. This node is asked when its verdict
        // says.
        self.doubts += self.peers.doubts() - doubts;
        clock.is_outlier = self.compare_with_others(verdict.outlier_ms);
        if let Some(ms) = verdict.stepped_ms {
            log!(
                warn,
                pool = %self.pool, by_ms = ms,
                "the node's clock stepped: it drops locks early, or late",
            );
        }
        let quarantined = |reason| Some(NodeError::unsent(NodeErrorKind::Quarantined, reason));
        let mut outcome = CheckOutcome {
            refusal: None,
            quarantine: None,
            is_settled: true,
            is_new_epoch: verdict.is_new_epoch,
            look_again: verdict.look_again,
            clock,
        };
        match verdict.action {
            Action::Vote => self.log_vote(),
            Action::Hold {
                reason,
                look_again,
                is_settled,
            } => {
                if is_settled {
                    self.log_hold(&reason);
                }
                outcome.quarantine = quarantined(reason);
                outcome.is_settled = is_settled;
                outcome.look_again = Some(look_again);
            }
            Action::Write {
                expected, reason, ..
            } if self.has_left(expected.as_deref()) => {
                // The next question writes nothing: a later write is based on the marker that it finds.
                let reason = format!("it does not take its marker; {reason}");
                self.log_hold(&reason);
                outcome.quarantine = quarantined(reason);
                outcome.look_again = Some(NOT_TAKEN);
            }
            Action::Write {
                expected,
                new,
                not_after,
                reason,
            } => {
                self.write = Some(Write {
                    expected,
                    new,
                    not_after,
                });
                self.is_voting = false;
                outcome.quarantine = quarantined(reason);
                outcome.is_settled = false;
                outcome.look_again = Some(Duration::ZERO);
            }
            Action::Refuse { reason } => {
                self.is_voting = false;
                outcome.refusal = Some(refused(reason));
                outcome.quarantine.clone_from(&outcome.refusal);
            }
        }
        Ok(outcome)
    }

    fn read<'a>(&self, value: &'a Value<'_>) -> Result<(Duration, Option<&'a [u8]>), NodeError> {
        let number = |value: &Value<'_>| match value {
            Value::Bulk(digits) => std::str::from_utf8(digits).ok()?.parse().ok(),
            _ => None,
        };
        if let Value::Error(text) = value {
            let error = NodeError::server(text);
            if !text.starts_with(b"NOPERM") {
                return Err(error);
            }
            let key = self.peers.marker_key().escape_ascii();
            return Err(refused(format!(
                "`{}` does not allow its marker to be kept: {error}; allow EVAL, TIME, GET and SET \
                 on the key `{key}` in its ACL, or set `restart_check` to \"off\"",
                self.pool,
            )));
        }
        let read = match value {
            Value::Array(fields) => match &fields[..] {
                [seconds, micros, rest @ ..] => number(seconds).zip(number(micros)).map(|time| {
                    let marker = match rest {
                        [Value::Bulk(marker)] => Some(*marker),
                        _ => None,
                    };
                    (time, marker)
                }),
                _ => None,
            },
            _ => None,
        };
        let ((seconds, micros), marker) = read.ok_or_else(|| {
            let detail = "the server's answer makes no sense for what was asked";
            NodeError::sent(NodeErrorKind::Protocol, detail)
        })?;
        let time = Duration::from_secs(seconds).saturating_add(Duration::from_micros(micros));
        Ok((time, marker))
    }

    /// Warns if the node's clock differs from this host's, once until that changes.
    fn compare_with_wall(&mut self, theirs: Duration, round_trip: Duration) -> ClockReading {
        let ours = self.clock.wall();
        let off = ours.abs_diff(theirs);
        let is_off = off > CLOCK_WINDOW + round_trip;
        if is_off && !self.logged_clock.is_off {
            let direction = if theirs > ours { "ahead of" } else { "behind" };
            log!(
                warn,
                pool = %self.pool, by_ms = u64::try_from(off.as_millis()).unwrap_or(u64::MAX),
                "the node's clock is {direction} this host's; let one time service keep both",
            );
        }
        self.logged_clock.is_off = is_off;
        // The server read its clock at some point of the round trip, most likely in the middle.
        let middle = ours.saturating_sub(round_trip / 2);
        let our_middle = self.asked.saturating_add(round_trip / 2).since_origin();
        let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        ClockReading {
            ahead_us: micros(theirs).saturating_sub(micros(middle)),
            ahead_of_ours_us: micros(theirs).saturating_sub(micros(our_middle)),
            is_outlier: false,
            within: round_trip / 2,
            at: Instant::now(),
        }
    }

    /// Warns if the node's clock differs from the other nodes', once until that changes. True if it
    /// differs.
    fn compare_with_others(&mut self, outlier_ms: Option<i64>) -> bool {
        if let Some(by_ms) = outlier_ms.filter(|_| !self.logged_clock.is_outlier) {
            let direction = if by_ms > 0 { "ahead of" } else { "behind" };
            log!(
                warn,
                pool = %self.pool, by_ms = by_ms.unsigned_abs(),
                "the node's clock is {direction} the other nodes'; it has no say in fenced locks \
                 until they agree",
            );
        } else if outlier_ms.is_none() && self.logged_clock.is_outlier {
            log!(info, pool = %self.pool, "the node's clock agrees with the other nodes' again");
        }
        self.logged_clock.is_outlier = outlier_ms.is_some();
        self.logged_clock.is_outlier
    }

    fn log_vote(&mut self) {
        if !self.is_voting && !self.logged.is_empty() {
            log!(info, pool = %self.pool, "node votes again");
        }
        self.is_voting = true;
        self.logged.clear();
    }

    fn log_hold(&mut self, reason: &str) {
        self.is_voting = false;
        // The text after `;` is the remaining time, which makes no new reason.
        let kind = reason.split(';').next().unwrap_or(reason);
        if self.logged != kind {
            log!(warn, pool = %self.pool, reason, "node in quarantine; it votes no until then");
            kind.clone_into(&mut self.logged);
        }
    }
}
