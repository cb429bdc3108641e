//! A node's restart check in its driver: asks the server, and says whether the node may vote.

mod log;
mod question;

use std::sync::{Arc, Weak};
use std::time::Duration;

use ::redis::{Cmd, cmd};
use tokio::time::Instant;

use crate::env::{Clock, Moment};
use crate::node::{NodeError, NodeErrorKind, Value};
use crate::redis::vetting::refused;
use crate::restart_check::{Action, CheckAnswer, CheckedSet, NodeCheck, RestartCheck};

use super::inbox::Inbox;
use super::inbox::metrics::ClockReading;
use log::CheckLog;
use question::Write;

/// The restart check of one node, over all its connections.
pub(in crate::redis) struct ServerCheck {
    pool: Arc<str>,
    peers: Arc<CheckedSet>,
    node_check: NodeCheck,
    clock: Arc<dyn Clock>,
    /// The id of the server of the present connection.
    run_id: Option<String>,
    /// The write of the next question.
    write: Option<Write>,
    /// The moment of the last question.
    asked: Moment,
    log: CheckLog,
}

/// The result of a check, for the connection.
pub(in crate::redis) struct CheckOutcome {
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
        inbox: &Arc<Inbox>,
        peers: &Arc<CheckedSet>,
        trust_aof: bool,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let (log, inbox) = (&inbox.log, Arc::downgrade(inbox));
        let node_check = NodeCheck::new(Arc::clone(peers), Arc::clone(&log.pool), trust_aof);
        node_check.on_doubt(Arc::new(move || {
            if let Some(inbox) = Weak::upgrade(&inbox) {
                inbox.doubt();
            }
        }));
        Self {
            pool: Arc::clone(&log.pool),
            peers: Arc::clone(peers),
            node_check,
            asked: clock.now(),
            clock,
            run_id: None,
            write: None,
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
    pub(in crate::redis) fn connected(&mut self, run_id: Option<&str>) {
        self.run_id = run_id.map(str::to_owned);
        self.write = None;
        self.log.connected();
    }

    /// Records that there is no connection.
    pub(in crate::redis) fn unreachable(&mut self) {
        self.node_check.unreachable();
    }

    /// The next question.
    pub(in crate::redis) fn question(&mut self) -> Cmd {
        self.asked = self.clock.now();
        if self.is_on() {
            question::with_marker(&self.peers.marker_key(), self.write.take())
        } else {
            // There is no marker, so the user needs no permission for its key.
            cmd("TIME")
        }
    }

    /// Evaluates the answer to the last question. An error ends the connection.
    pub(in crate::redis) fn answer(&mut self, value: &Value) -> Result<CheckOutcome, NodeError> {
        let (time, marker) = question::read(value, &self.pool, &self.peers.marker_key())?;
        let answered = self.clock.now();
        let clock = self.read_clock(time, answered.saturating_since(self.asked));
        let verdict = self.node_check.check(&CheckAnswer {
            run_id: self.run_id.as_deref(),
            marker,
            time,
            asked: self.asked,
            answered,
        });
        if let Some(ms) = verdict.stepped_ms {
            self.log.stepped(ms);
        }
        let mut outcome = CheckOutcome {
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
                let reason = NodeError::unsent(NodeErrorKind::Quarantined, reason);
                outcome.quarantine = Some(reason);
                outcome.is_settled = is_settled;
                outcome.look_again = Some(look_again);
            }
            Action::Write {
                expected,
                new,
                not_after,
            } => {
                self.write = Some(Write {
                    expected,
                    new,
                    not_after,
                });
                outcome.quarantine = Some(in_doubt());
                outcome.is_settled = false;
                outcome.look_again = Some(Duration::ZERO);
            }
            Action::Refuse { reason } => return Err(refused(reason)),
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

/// The reason why a node does not vote until its check is answered.
pub(in crate::redis) fn in_doubt() -> NodeError {
    let detail = "it may have forgotten locks; its restart check is under way";
    NodeError::unsent(NodeErrorKind::Quarantined, detail)
}
