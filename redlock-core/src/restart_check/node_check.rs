//! One node's restart check: what each check of it means.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use crate::env::Moment;

use super::clock::NodeClock;
use super::details::{Cause, FoundMarker, MarkerDetails, held};
use super::opening::AT_ONCE;
use super::process::{Process, Processes};
use super::quarantine::OperatorIdle;
use super::settings::StrictestSettings;
use super::steps::SteppedClock;
use super::{Action, CheckAnswer, CheckedSet, Marker, RestartCheck, Verdict, WRITES_WITHIN};

/// The longest wait for the other nodes to tell whose clock stepped, longer than the interval at which
/// they are checked. After it, the step counts as the node's.
const UNDECIDED: Duration = Duration::from_secs(30);

/// The pause before the next check of a node whose step is undecided.
const SOON: Duration = Duration::from_millis(250);

/// How a [`NodeCheck`] behaves.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct NodeCheckOptions {
    /// The node forgets nothing when it restarts, so a restart needs no quarantine. A marker that
    /// is missing still does.
    pub trust_aof: bool,
}

/// The check of one node, for as long as its client lives, over all connections.
#[derive(Debug)]
pub struct NodeCheck {
    pub(super) peers: Arc<CheckedSet>,
    name: Arc<str>,
    pub(super) seat: usize,
    pub(super) options: NodeCheckOptions,
    /// No vote before then, on the client's own clock: a node's clock that jumps ahead does not
    /// end a quarantine for a client that saw it.
    pub(super) held_until: Option<Moment>,
    /// Why the node does not vote.
    pub(super) cause: Option<Cause>,
    /// The operator's word on the node, if there is one.
    pub(super) operator_idle: Option<OperatorIdle>,
    /// The statements of processes on the node that still count.
    pub(super) said: StrictestSettings,
    /// A marker was there once: a node without one has lost it.
    has_seen_marker: bool,
    /// The marker under which the node was last seen in use by any client.
    seen_under: Option<Marker>,
    /// The marker under which the node last voted, in this epoch.
    voted_under: Option<Marker>,
    /// The last marker that was seen, as it is on the node, in its first version.
    last_marker: Option<Vec<u8>>,
    /// A step that is not yet known to be the node's clock or this host's.
    pub(super) suspicion: Option<Suspicion>,
    /// A step whose quarantine is not written on the node yet.
    pub(super) unwritten: Option<Unwritten>,
    clock: NodeClock,
    processes: Processes,
}

#[derive(Debug)]
pub(super) struct Suspicion {
    by_us: i128,
    /// The marker before the step was seen.
    marker: Option<Vec<u8>>,
    seen: Moment,
}

#[derive(Debug)]
pub(super) struct Unwritten {
    /// The marker that the quarantine is to replace; once it is another one, others have judged.
    marker: Option<Vec<u8>>,
    cause: Cause,
}

impl NodeCheck {
    /// The check of the node `name`, which joins `peers`.
    pub fn new(
        peers: Arc<CheckedSet>,
        name: impl Into<Arc<str>>,
        options: NodeCheckOptions,
    ) -> Self {
        let name = name.into();
        let seat = peers.join(Arc::clone(&name));
        Self {
            peers,
            name,
            seat,
            options,
            held_until: None,
            cause: None,
            operator_idle: None,
            said: StrictestSettings::default(),
            has_seen_marker: false,
            seen_under: None,
            voted_under: None,
            last_marker: None,
            suspicion: None,
            unwritten: None,
            clock: NodeClock::default(),
            processes: Processes::default(),
        }
    }

    /// The node was not reached, was refused, or its connection is gone. To be called whenever an
    /// attempt to connect fails, the first one too: the others wait for it.
    pub fn unreachable(&mut self) {
        self.peers.is_unreachable(self.seat);
    }

    /// Wakes a task whenever [`CheckedSet::doubts`] goes up.
    pub fn wake_on_doubt(&self, waker: Waker) {
        self.peers.wake(self.seat, waker);
    }

    /// Judges a check. The caller must do exactly what the newest verdict says.
    pub fn check(&mut self, check: &CheckAnswer<'_>) -> Verdict {
        let process = self.recognize(check);
        let look = self.clock.read(check);
        let stepped = look.stepped;
        self.peers.record_clock(self.seat, check, look);
        let twin = self.peers.twin(self.seat, check.run_id);
        let action = match twin {
            Some(twin) => {
                self.unreachable();
                Action::Refuse {
                    reason: format!(
                        "`{}` is the same server as `{twin}`; two votes of one server are no \
                         majority: give each pool a server of its own",
                        self.name,
                    ),
                }
            }
            // With the restart check off, a step is no reason to close a node either: a single pool has
            // no quorum to fall back on, and for several pools the operator chose to go on. The step is
            // reported for the log.
            None if self.peers.restart_check() == RestartCheck::Off => Action::Vote,
            None => self.judge(check, process, stepped),
        };
        let found = check.marker.and_then(FoundMarker::parse);
        let is_opened = |found: &&FoundMarker| found.cause() != Some(Cause::Opening);
        if let Some(found) = found.as_ref().filter(is_opened) {
            self.seen_under = Some(found.marker.clone());
        }
        let marker = found.map(|found| found.marker);
        let is_new_epoch = stepped.is_some() && self.voted_under.is_some()
            || self
                .voted_under
                .as_ref()
                .is_some_and(|under| !self.is_under(under, marker.as_ref()));
        if is_new_epoch {
            self.voted_under = None;
        }
        if action == Action::Vote && self.peers.restart_check() != RestartCheck::Off {
            self.voted_under = marker;
        }
        self.last_marker = check.first_version().map(<[u8]>::to_vec);
        let (mut settings_write, mut disagreement) = (None, None);
        if self.peers.restart_check() != RestartCheck::Off {
            settings_write = self.settings_write(check, &action);
            disagreement = self.said.disagrees(self.own(check));
        }
        Verdict {
            action,
            is_new_epoch,
            settings_write,
            disagreement,
            stepped_ms: stepped.map(millis),
        }
    }

    /// A promoted replica is on another host with another clock, so the difference to the last reading
    /// is no step. With `trust_aof` no other server takes the node's place, and a step that a restart
    /// hides has to be seen.
    fn recognize(&mut self, check: &CheckAnswer<'_>) -> Process {
        let process = self.processes.recognize(check);
        if process == Process::Another && !self.options.trust_aof {
            self.clock = NodeClock::default();
        }
        process
    }

    fn judge(
        &mut self,
        check: &CheckAnswer<'_>,
        process: Process,
        stepped: Option<i128>,
    ) -> Action {
        let found = check.marker.and_then(FoundMarker::parse);
        let is_ours =
            |found: &&FoundMarker| check.run_id.is_none_or(|it| it == found.marker.run_id);
        let ours = found.as_ref().filter(is_ours);
        let is_marked = check.marker.is_some();
        let had_marker = self.has_seen_marker;
        if is_marked {
            self.has_seen_marker = true;
        }
        if ours.is_some() {
            self.processes.is_marked(check);
        }
        let is_opening = ours.is_some_and(|found| found.cause() == Some(Cause::Opening));
        if is_marked && !is_opening {
            self.peers.is_marked(self.seat);
        }
        self.read_settings(check, found.as_ref());
        self.heed_the_operator(check, ours);
        if let Some(by_us) = stepped {
            self.suspicion = Some(Suspicion {
                by_us,
                marker: self.last_marker.clone(),
                seen: check.answered,
            });
        }
        if let Some(action) = self.suspect(check) {
            return action;
        }
        if let Some(step) = self
            .unwritten
            .take_if(|it| it.marker.as_deref() == check.first_version())
        {
            let action = self.quarantine(check, step.cause);
            // A clock that stepped back twice may have the same quarantine written already.
            let is_written = |action: &Action| matches!(action, Action::Write { expected, new, .. } if expected.as_ref() == Some(new));
            if !is_written(&action) {
                self.unwritten = Some(step);
                return action;
            }
        }
        self.unwritten = None;
        if self.operator_idle == Some(OperatorIdle::Given) && !self.is_held(check) {
            return self.write(check, check.time, Cause::Idle, Cause::Idle.to_string());
        }
        if let Some(found) = ours {
            if let Some(cause) = self.is_too_loose(check, found) {
                return self.forgot(check, cause);
            }
            if let Some(cause) = self.was_taken_for_new(found) {
                // Somebody came by first who had not seen the set in use.
                self.hold_for(self.peers.quarantine(), cause, check.answered);
            }
            return if is_opening {
                self.opening(check)
            } else {
                self.follow(check, found)
            };
        }
        match found {
            Some(found) if self.options.trust_aof && !self.said.is_careful() => {
                let until = found.marker.until();
                self.write(check, until, Cause::Kept, Cause::Kept.to_string())
            }
            Some(found) => {
                let cause = self.processes.cause(check, Some(&found), Cause::Restarted);
                self.forgot(check, cause)
            }
            // Something else was seen in the same answer. The next client to come writes it down.
            None if self.operator_idle == Some(OperatorIdle::Given) => self.hold(self.left(check)),
            None if is_marked => self.forgot(check, Cause::Garbled),
            None if had_marker => {
                let cause = self.how_it_was_lost(check, process);
                self.forgot(check, cause)
            }
            None if self.peers.is_strict() => self.forgot(check, Cause::Strict),
            None => self.blank(check),
        }
    }

    /// Why a node that this client saw in use had no marker in between, so that it was taken for new.
    fn was_taken_for_new(&self, found: &FoundMarker) -> Option<Cause> {
        let before = self.seen_under.as_ref()?;
        let is_new = matches!(found.cause(), Some(Cause::Opening | Cause::New));
        let cause = if before.run_id == found.marker.run_id {
            Cause::Flushed
        } else {
            Cause::RestartedEmpty
        };
        (is_new && *before != found.marker).then_some(cause)
    }

    /// Why a node that had a marker has none now.
    fn how_it_was_lost(&self, check: &CheckAnswer<'_>, process: Process) -> Cause {
        match (self.cause, process) {
            // It was seen before, and is not written yet.
            (Some(cause), _) if cause.is_loss() => cause,
            (_, Process::Another) => self.processes.cause(check, None, Cause::RestartedEmpty),
            (_, Process::Same) => Cause::Flushed,
            (_, Process::Unknown) => Cause::Lost,
        }
    }

    /// The action for a step that was seen, if there is one.
    fn suspect(&mut self, check: &CheckAnswer<'_>) -> Option<Action> {
        let suspicion = self.suspicion.take()?;
        let waited = check.answered.saturating_since(suspicion.seen);
        match self.peers.whose_step(self.seat) {
            // All leases were given up with the epoch; the nodes are as they were.
            SteppedClock::Ours => None,
            SteppedClock::Undecided if waited < UNDECIDED => {
                let why = stepped(suspicion.by_us);
                self.suspicion = Some(suspicion);
                Some(Action::Hold {
                    reason: format!(
                        "{why}, or this host's did; the other nodes' clocks will show which"
                    ),
                    look_again: SOON,
                    is_settled: true,
                })
            }
            SteppedClock::Undecided | SteppedClock::Nodes => Some(self.step(check, &suspicion)),
        }
    }

    /// The node's clock stepped: it dropped locks early, or will drop them late.
    fn step(&mut self, check: &CheckAnswer<'_>, suspicion: &Suspicion) -> Action {
        let quarantine = self.peers.quarantine();
        let cause = stepped(suspicion.by_us);
        self.hold_for(quarantine, cause, check.answered);
        if check.first_version() != suspicion.marker.as_deref() {
            // Since the check before, another client has written the marker, or the node was not
            // checked for long. Other clients judge for themselves; this client waits.
            return Action::Hold {
                reason: held(Some(cause), quarantine),
                look_again: AT_ONCE,
                is_settled: true,
            };
        }
        let action = self.quarantine(check, cause);
        self.unwritten = Some(Unwritten {
            marker: check.first_version().map(<[u8]>::to_vec),
            cause,
        });
        action
    }

    pub(super) fn write(
        &self,
        check: &CheckAnswer<'_>,
        until: Duration,
        cause: Cause,
        reason: String,
    ) -> Action {
        let marker = Marker::new(check.run_id, until);
        let since_ms = u64::try_from(check.time.as_millis()).unwrap_or(u64::MAX);
        let settings = self.said.with(self.own(check));
        let details = Some(MarkerDetails {
            cause,
            since_ms,
            settings,
        });
        Action::Write {
            expected: check.marker.map(<[u8]>::to_vec),
            new: FoundMarker { marker, details }.to_bytes(),
            not_after: check.time.saturating_add(WRITES_WITHIN),
            reason,
        }
    }

    /// Whether `marker` says that nothing was forgotten since the node voted `under` another, or
    /// the same.
    fn is_under(&self, under: &Marker, marker: Option<&Marker>) -> bool {
        marker.is_some_and(|marker| {
            marker.until_ms == under.until_ms
                && (marker.run_id == under.run_id || self.options.trust_aof)
        })
    }
}

fn millis(us: i128) -> i64 {
    i64::try_from(us / 1000).unwrap_or(i64::MAX)
}

fn stepped(by_us: i128) -> Cause {
    Cause::Stepped {
        by_ms: millis(by_us),
    }
}
