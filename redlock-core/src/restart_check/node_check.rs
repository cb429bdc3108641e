//! One node's restart check: what each check of it means.

use std::sync::Arc;
use std::task::Waker;
use std::time::Duration;

use crate::env::Moment;

use super::cause::Cause;
use super::clock::NodeClock;
use super::marker::millis;
use super::process::{Process, Processes};
use super::quarantine::OperatorIdle;
use super::steps::{Suspicion, Unwritten, is_unchanged, step_ms};
use super::{Action, CheckAnswer, CheckedSet, Marker, RestartCheck, Verdict, WRITES_WITHIN};

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
    /// A marker was there once: a node without one has lost it.
    has_seen_marker: bool,
    /// The marker under which the node was last seen in use by any client.
    seen_under: Option<Marker>,
    /// The marker under which the node last voted, in this epoch.
    voted_under: Option<Marker>,
    /// The marker of the last check.
    last_marker: Option<Marker>,
    /// A step that is not yet known to be the node's clock or this host's.
    pub(super) suspicion: Option<Suspicion>,
    /// A step whose quarantine is not written on the node yet.
    pub(super) unwritten: Option<Unwritten>,
    clock: NodeClock,
    processes: Processes,
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
        let found = check.marker.and_then(Marker::parse);
        let is_on = self.peers.restart_check() != RestartCheck::Off;
        let action = match self.peers.twin(self.seat, check.run_id) {
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
            None if !is_on => Action::Vote,
            None => {
                let action = self.judge(check, found.as_ref(), process, stepped);
                self.raised(check, found.as_ref(), action)
            }
        };
        if let Some(found) = found.as_ref().filter(|found| found.cause != Cause::Opening) {
            self.seen_under = Some(found.clone());
        }
        let under = self.voted_under.as_ref();
        let is_new_epoch =
            under.is_some_and(|under| stepped.is_some() || !self.is_under(under, found.as_ref()));
        if is_new_epoch {
            self.voted_under = None;
        }
        if action == Action::Vote && is_on {
            self.voted_under.clone_from(&found);
        }
        self.last_marker = found;
        Verdict {
            action,
            is_new_epoch,
            stepped_ms: stepped.map(step_ms),
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

    /// The write that raises the `max_ttl` in the marker to this process's own, if it is shorter; otherwise
    /// `action`. The node does not vote before: other processes have to know for how long locks may live.
    fn raised(&self, check: &CheckAnswer<'_>, found: Option<&Marker>, action: Action) -> Action {
        let max_ttl = self.peers.max_ttl();
        let is_shorter = |it: &&Marker| is_ours(check, it) && it.max_ttl() < max_ttl;
        let (Some(found), false) = (
            found.filter(is_shorter),
            matches!(action, Action::Write { .. }),
        ) else {
            return action;
        };
        let raised = Marker {
            max_ttl_ms: millis(max_ttl),
            ..found.clone()
        };
        let reason = match action {
            Action::Hold { reason, .. } => reason,
            _ => "the `max_ttl` in its marker is being raised to this process's own".to_owned(),
        };
        Self::replace(check, &raised, reason)
    }

    fn judge(
        &mut self,
        check: &CheckAnswer<'_>,
        found: Option<&Marker>,
        process: Process,
        stepped: Option<i128>,
    ) -> Action {
        let ours = found.filter(|it| is_ours(check, it));
        if let Some(found) = found {
            self.peers.record_max_ttl(self.seat, found.max_ttl());
        }
        let is_marked = check.marker.is_some();
        let had_marker = self.has_seen_marker;
        if is_marked {
            self.has_seen_marker = true;
        }
        if ours.is_some() {
            self.processes.is_marked(check);
        }
        let is_opening = ours.is_some_and(|found| found.cause == Cause::Opening);
        if is_marked && !is_opening {
            self.peers.is_marked(self.seat);
        }
        self.heed_the_operator(check, ours);
        if let Some(by_us) = stepped {
            let marker = self.last_marker.clone();
            self.suspicion = Some(Suspicion::new(by_us, marker, check.answered));
        }
        if let Some(action) = self.suspect(check, found) {
            return action;
        }
        if let Some(step) = self
            .unwritten
            .take_if(|it| is_unchanged(it.marker.as_ref(), found))
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
            Some(found) if self.options.trust_aof => {
                self.write(check, found.until(), Cause::Kept, Cause::Kept.to_string())
            }
            Some(found) => {
                let cause = self.processes.cause(check, Some(found), Cause::Restarted);
                self.forgot(check, cause)
            }
            // Something else was seen in the same answer. The next client to come writes it down.
            None if self.operator_idle == Some(OperatorIdle::Given) => self.hold(self.left(check)),
            None if is_marked => self.forgot(check, Cause::Garbled),
            None if had_marker => {
                let cause = self.how_it_was_lost(check, process);
                self.forgot(check, cause)
            }
            None if self.peers.restart_check() == RestartCheck::Strict => {
                self.forgot(check, Cause::Strict)
            }
            None => self.blank(check),
        }
    }

    /// Why a node that this client saw in use had no marker in between, so that it was taken for new.
    fn was_taken_for_new(&self, found: &Marker) -> Option<Cause> {
        let before = self.seen_under.as_ref()?;
        let is_new = matches!(found.cause, Cause::Opening | Cause::New);
        let cause = if before.run_id == found.run_id {
            Cause::Flushed
        } else {
            Cause::RestartedEmpty
        };
        (is_new && !before.is_like(found)).then_some(cause)
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

    pub(super) fn write(
        &self,
        check: &CheckAnswer<'_>,
        until: Duration,
        cause: Cause,
        reason: String,
    ) -> Action {
        let max_ttl = match cause {
            // No lock is held, so none lives for longer than this process knows.
            Cause::Idle => self.peers.max_ttl(),
            _ => self.peers.longest_max_ttl(),
        };
        let marker = Marker {
            run_id: check.run_id.unwrap_or(Marker::UNKNOWN).to_owned(),
            since_ms: millis(check.time),
            cause,
            max_ttl_ms: millis(max_ttl),
            until_ms: millis(until),
        };
        Self::replace(check, &marker, reason)
    }

    fn replace(check: &CheckAnswer<'_>, marker: &Marker, reason: String) -> Action {
        Action::Write {
            expected: check.marker.map(<[u8]>::to_vec),
            new: marker.to_bytes(),
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

/// True if the marker is that of the node's present process, as far as this is known.
fn is_ours(check: &CheckAnswer<'_>, found: &Marker) -> bool {
    check.run_id.is_none_or(|run_id| run_id == found.run_id)
}
