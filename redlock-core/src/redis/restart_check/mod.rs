//! A node's restart check in its driver: asks the server, and says whether the node may vote.

mod log;
mod question;

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use tokio::time::Instant;

use crate::env::{Clock, Moment};
use crate::node::log::NodeLog;
use crate::node::{NodeError, NodeErrorKind, Value};
use crate::redis::vetting::{Facts, refused};
use crate::restart_check::{
    Action, CheckAnswer, CheckedSet, NodeCheck, NodeCheckOptions, RestartCheck,
};

use super::inbox::metrics::ClockReading;
use log::CheckLog;
pub(in crate::redis) use question::Question;
use question::Write;

/// The time until the next check of a node that did not take its marker.
const NOT_TAKEN: Duration = Duration::from_millis(250);

/// The restart check of one node, over all its connections.
pub(in crate::redis) struct ServerCheck {
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
    waker: Option<Waker>,
    log: CheckLog,
}

/// The result of a check, for the connection.
pub(in crate::redis) struct CheckOutcome {
    /// The error with which the connection must end.
    pub(in crate::redis) refusal: Option<NodeError>,
    /// The reason why the node must not vote; `None` if it may.
    pub(in crate::redis) quarantine: Option<NodeError>,
    pub(in crate::redis) is_settled: bool,
    pub(in crate::redis) is_new_epoch: bool,
    /// The time until the next check; `None` for a heartbeat.
    pub(in crate::redis) look_again: Option<Duration>,
    pub(in crate::redis) clock: ClockReading,
}

impl ServerCheck {
    pub(in crate::redis) fn new(
        log: &NodeLog,
        peers: &Arc<CheckedSet>,
        trust_aof: bool,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let options = NodeCheckOptions { trust_aof };
        Self {
            pool: Arc::clone(&log.pool),
            peers: Arc::clone(peers),
            node_check: NodeCheck::new(Arc::clone(peers), Arc::clone(&log.pool), options),
            asked: clock.now(),
            clock,
            run_id: None,
            uptime: None,
            write: None,
            written: None,
            doubts: peers.doubts(),
            waker: None,
            log: CheckLog::new(log),
        }
    }

    /// True unless the restart check is off.
    pub(in crate::redis) fn is_on(&self) -> bool {
        self.peers.restart_check() != RestartCheck::Off
    }

    /// The marker's key, if the node has a marker.
    pub(in crate::redis) fn marker_key(&self) -> Option<Arc<[u8]>> {
        self.is_on().then(|| self.peers.marker_key().into())
    }

    /// Records the server of a new connection.
    pub(in crate::redis) fn connected(&mut self, facts: Facts) {
        self.run_id = facts.run_id;
        self.uptime = facts.uptime.map(|uptime| (uptime, self.clock.now()));
        self.write = None;
        self.log.connected();
    }

    /// Records that there is no connection.
    pub(in crate::redis) fn unreachable(&mut self) {
        self.node_check.unreachable();
        self.log.does_not_vote();
    }

    /// True if another node's check wants this node to be asked too.
    pub(in crate::redis) fn is_wanted(&self) -> bool {
        self.peers.doubts() != self.doubts
    }

    /// Sets the waker of the driver, for the moment when another node's check wants this node to be
    /// asked.
    pub(in crate::redis) fn wake(&mut self, waker: &Waker) {
        if !self.waker.as_ref().is_some_and(|it| it.will_wake(waker)) {
            self.waker = Some(waker.clone());
            self.node_check.wake_on_doubt(waker.clone());
        }
    }

    /// The next question.
    pub(in crate::redis) fn question(&mut self) -> Question {
        self.doubts = self.peers.doubts();
        self.asked = self.clock.now();
        if !self.is_on() {
            // There is no marker, so the user needs no permission for its key.
            return question::without_marker();
        }
        self.written = self.write.take();
        question::with_marker(self.peers.marker_key(), self.written.as_ref())
    }

    /// True if the last question should have replaced the present marker.
    fn has_left(&self, marker: Option<&[u8]>) -> bool {
        let written = self.written.as_ref();
        written.is_some_and(|write| write.expected.as_deref() == marker)
    }

    /// Evaluates the answer to the last question. An error ends the connection.
    pub(in crate::redis) fn answer(&mut self, value: &Value) -> Result<CheckOutcome, NodeError> {
        let (time, marker) = question::read(value, &self.pool, self.peers.marker_key())?;
        let answered = self.clock.now();
        let round_trip = answered.saturating_since(self.asked);
        let clock = self.read_clock(time, round_trip);
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
        // Doubts that this check raised concern the other nodes. This node is asked when its verdict
        // says.
        self.doubts += self.peers.doubts() - doubts;
        if let Some(ms) = verdict.stepped_ms {
            self.log.stepped(ms);
        }
        let quarantined = |reason| Some(NodeError::unsent(NodeErrorKind::Quarantined, reason));
        let mut outcome = CheckOutcome {
            refusal: None,
            quarantine: None,
            is_settled: true,
            is_new_epoch: verdict.is_new_epoch,
            look_again: None,
            clock,
        };
        match verdict.action {
            Action::Vote => self.log.votes(),
            Action::Hold {
                reason,
                look_again,
                is_settled,
            } => {
                if is_settled {
                    self.log.held(&reason);
                }
                outcome.quarantine = quarantined(reason);
                outcome.is_settled = is_settled;
                outcome.look_again = Some(look_again);
            }
            Action::Write {
                expected, reason, ..
            } if self.has_left(expected.as_deref()) => {
                // The next question writes nothing: a later write is based on the marker that it finds.
                let reason = format!("its marker was not written; {reason}");
                self.log.held(&reason);
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
                self.log.does_not_vote();
                outcome.quarantine = quarantined(reason);
                outcome.is_settled = false;
                outcome.look_again = Some(Duration::ZERO);
            }
            Action::Refuse { reason } => {
                self.log.does_not_vote();
                outcome.refusal = Some(refused(reason));
                outcome.quarantine.clone_from(&outcome.refusal);
            }
        }
        Ok(outcome)
    }

    /// The node's clock as the answer shows it. Logs if it differs from this host's.
    fn read_clock(&mut self, theirs: Duration, round_trip: Duration) -> ClockReading {
        let ours = self.clock.wall();
        self.log.wall_clock(theirs, ours, round_trip);
        // The server read its clock at some point of the round trip, most likely in the middle.
        let middle = ours.saturating_sub(round_trip / 2);
        let micros = |span: Duration| i64::try_from(span.as_micros()).unwrap_or(i64::MAX);
        ClockReading {
            ahead_us: micros(theirs).saturating_sub(micros(middle)),
            within: round_trip / 2,
            at: Instant::now(),
        }
    }
}
