//! One node's restart check: what each check of it means.

use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::model::brief::Brief;
use crate::node::EpochListener;

use super::checked_set::{Finding, SetView};
use super::clock::SteppedClock;
use super::marker::{Cause, Found, Marker};
use super::{CheckedSet, RestartCheck};

/// The time after a check within which its marker may be written, by the node's clock.
const WRITES_WITHIN: Duration = Duration::from_secs(2);

/// The pause before the next check of what changes within milliseconds.
const AT_ONCE: Duration = Duration::from_millis(25);

/// The pause before the next check if other nodes decide.
const LATER: Duration = Duration::from_millis(250);

/// The longest pause between two checks of a node in quarantine.
const LATEST: Duration = Duration::from_secs(5);

/// The longest wait for the other nodes to show whose clock stepped, longer than the interval at which
/// they are checked. After it, the step counts as the node's.
const UNDECIDED: Duration = Duration::from_secs(30);

/// How long its marker keeps a node that is being opened in quarantine. This is short, because a
/// client that knows of a longer quarantine waits until that one is over.
const OPENING: Duration = Duration::from_secs(1);

/// What a node answered when it was asked for its time and its marker.
#[derive(Clone, Copy, Debug)]
pub struct CheckAnswer<'a> {
    /// The process of the node, as it said on this connection; `None` if the ACL hides it.
    pub run_id: Option<&'a str>,
    /// The node's marker, after the write if there was one.
    pub marker: Option<&'a [u8]>,
    /// The node's clock, since the Unix epoch.
    pub time: Duration,
    /// When the question was sent, on the client's monotonic clock.
    pub asked: Moment,
    /// When the answer was there.
    pub answered: Moment,
}

/// The verdict of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What to do.
    pub action: Action,
    /// True if the node may have forgotten what it granted to this client before.
    pub is_new_epoch: bool,
    /// The step of the node's clock since the check before, in ms; positive if forwards.
    pub stepped_ms: Option<i64>,
}

/// What to do with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// It may vote.
    Vote,
    /// It must not vote yet.
    Hold {
        /// Why. The text before the `;` does not change with time.
        reason: String,
        /// When to check again, at the latest.
        look_again: Duration,
        /// True if the node stays like this for now. False if that is decided in a moment, for
        /// which a start should wait.
        is_settled: bool,
    },
    /// It must not vote; set its marker, and check again with what the node answers to that.
    Write(MarkerWrite),
}

/// A marker to be set, in one step, if the marker still is `expected`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkerWrite {
    /// The marker before the write; `None` if it must be missing. The write does not happen with
    /// another one.
    pub expected: Option<Vec<u8>>,
    /// The marker after the write.
    pub new: Vec<u8>,
    /// The write must not happen when the node's clock, since the Unix epoch, is past this.
    pub not_after: Duration,
}

/// The check of one node, for as long as its client lives, over all connections.
#[derive(Debug)]
pub struct NodeCheck {
    peers: Arc<CheckedSet>,
    seat: usize,
    trust_aof: bool,
    /// The node's last process, if the server tells it.
    run_id: Option<String>,
    /// What the last check found in the marker's place.
    last: Found,
    /// The marker under which the node was last seen in use by any client.
    seen: Option<Marker>,
    /// True if the node voted under that marker.
    has_voted: bool,
    /// Until when the node does not vote, on the client's own clock, and why. It counts beside the marker, which shows
    /// the last write only: a client may have taken the set for new, or the node's clock has jumped ahead since.
    held: Option<(Moment, Cause)>,
    /// A step of the node's clock that is not written down, and may be this host's.
    step: Option<Step>,
}

#[derive(Debug)]
struct Step {
    seen: Moment,
    /// What was found before the step. Once it is something else, another client has judged.
    before: Found,
}

impl NodeCheck {
    /// The check of the node `name`, which joins `peers`. With `trust_aof` the node forgets nothing when it restarts,
    /// so a restart needs no quarantine. A marker that is missing still does.
    pub fn new(peers: Arc<CheckedSet>, name: impl Into<Arc<str>>, trust_aof: bool) -> Self {
        let seat = peers.join(name.into());
        Self {
            peers,
            seat,
            trust_aof,
            run_id: None,
            last: Found::Nothing,
            seen: None,
            has_voted: false,
            held: None,
            step: None,
        }
    }

    /// The node was not reached, was refused, or its connection is gone. To be called whenever an
    /// attempt to connect fails, the first one too: the others wait for it.
    pub fn unreachable(&mut self) {
        let seat = &mut self.peers.seats.lock()[self.seat];
        seat.finding = Finding::Unreachable;
        seat.run_id = None;
    }

    /// Calls `listener` whenever the node should be checked at once, because another node's check raised a question. It
    /// must not call this node check.
    pub fn on_doubt(&self, listener: EpochListener) {
        self.peers.seats.lock()[self.seat].on_doubt = Some(listener);
    }

    /// Judges a check. The caller must do exactly what the newest verdict says.
    ///
    /// # Errors
    /// The node must not vote at all: it is the same server as another node. The text names both nodes, and the fix.
    pub fn check(&mut self, check: &CheckAnswer<'_>) -> Result<Verdict, String> {
        if let Some(reason) = self.peers.refusal(self.seat, check.run_id) {
            self.unreachable();
            return Err(reason);
        }
        let stepped_ms = self.read_clock(check);
        // With the restart check off, a step is no reason to close a node either: a single pool has
        // no quorum to fall back on, and for several pools the operator chose to go on.
        if self.peers.restart_check() == RestartCheck::Off {
            return Ok(Verdict {
                action: Action::Vote,
                is_new_epoch: false,
                stepped_ms,
            });
        }
        let found = Found::of(check.marker);
        // Keys of a node whose clock was set back live longer, which takes no lock from its holder.
        let has_stepped_ahead = stepped_ms.is_some_and(|ms| ms > 0);
        let is_as_before = match (&self.seen, found.marker()) {
            (Some(seen), Some(found)) => self.is_as(seen, check, found),
            _ => false,
        };
        let is_new_epoch = self.has_voted && (has_stepped_ahead || !is_as_before);
        let action = self.judge(check, &found, has_stepped_ahead);
        let action = self.raised(check, &found, action);
        if let Some(marker) = found.marker().filter(|it| it.cause != Cause::Opening) {
            self.seen = Some(marker.clone());
        }
        self.has_voted = action == Action::Vote || self.has_voted && !is_new_epoch;
        self.last = found;
        Ok(Verdict {
            action,
            is_new_epoch,
            stepped_ms,
        })
    }

    /// A promoted replica is on another host with another clock, so the difference to the last reading
    /// is no step. With `trust_aof` no other server takes the node's place, and a step that a restart
    /// hides has to be seen.
    fn read_clock(&mut self, check: &CheckAnswer<'_>) -> Option<i64> {
        let before = self.run_id.as_deref();
        let is_other = before.is_some() && check.run_id.is_some() && before != check.run_id;
        if is_other || before.is_none() {
            self.run_id = check.run_id.map(str::to_owned);
        }
        let is_other_clock = is_other && !self.trust_aof;
        self.peers.read_clock(self.seat, check, is_other_clock)
    }

    /// Whether the marker says that nothing was forgotten since the node was last `seen` in use.
    fn is_as(&self, seen: &Marker, check: &CheckAnswer<'_>, found: &Marker) -> bool {
        let is_same_process = found.run_id == seen.run_id && is_ours(check, found);
        found.since == seen.since && (self.trust_aof || is_same_process)
    }

    fn judge(&mut self, check: &CheckAnswer<'_>, found: &Found, has_stepped: bool) -> Action {
        let marker = found.marker();
        let ours = marker.filter(|it| is_ours(check, it));
        if let Some(marker) = marker {
            self.peers.seats.lock()[self.seat].max_ttl = marker.max_ttl;
        }
        let is_opening = ours.is_some_and(|it| it.cause == Cause::Opening);
        if *found != Found::Nothing && !is_opening {
            let seat = &mut self.peers.seats.lock()[self.seat];
            seat.finding = Finding::InUse;
            seat.was_in_use = true;
        }
        if self.is_news(found, ours) {
            // The operator's word ends what was known before. What the same answer shows is recorded below.
            self.held = None;
            self.step = None;
        }
        if has_stepped {
            let before = self.last.clone();
            let seen = check.answered;
            self.step = Some(Step { seen, before });
        }
        if let Some(action) = self.judge_step(check, found) {
            return action;
        }
        if let Some(found) = ours {
            return self.follow(check, found);
        }
        match found {
            Found::Word if self.left(check).is_zero() => {
                self.write(check, Duration::ZERO, Cause::Idle)
            }
            // The same answer showed a reason not to vote. A client that comes later writes the marker.
            Found::Word => self.hold(check),
            Found::Garbage => self.forgot(check, Cause::Invalid),
            // Only the `run_id` changes, so a quarantine outlives the restart.
            Found::Marker(kept) if self.trust_aof => replace(check, kept.clone()),
            Found::Marker(_) => self.forgot(check, Cause::Restarted),
            Found::Nothing => match &self.seen {
                Some(seen) => {
                    let cause = lost_by(seen, check);
                    self.forgot(check, cause)
                }
                None if self.peers.restart_check() == RestartCheck::Strict => {
                    self.forgot(check, Cause::Strict)
                }
                None => self.blank(check),
            },
        }
    }

    /// True if the operator's word appeared since the last check: the word itself, or the marker for it that the first
    /// client that found the word wrote.
    fn is_news(&self, found: &Found, ours: Option<&Marker>) -> bool {
        let idle = ours.filter(|it| it.cause == Cause::Idle);
        match &self.last {
            Found::Word => false,
            Found::Marker(last) if last.cause == Cause::Idle => {
                *found == Found::Word || idle.is_some_and(|it| it.since != last.since)
            }
            _ => *found == Found::Word || idle.is_some(),
        }
    }

    /// The action for a step of the clock that was seen, if there is one: such a node dropped locks early.
    fn judge_step(&mut self, check: &CheckAnswer<'_>, found: &Found) -> Option<Action> {
        let step = self.step.take()?;
        let waited = check.answered.saturating_since(step.seen);
        match self.peers.whose_step(self.seat) {
            // All leases were given up with the epoch; the nodes are as they were.
            SteppedClock::Ours => None,
            SteppedClock::Undecided if waited < UNDECIDED => {
                self.step = Some(step);
                let reason = "its clock stepped ahead, or this host stood still; the other nodes' \
                              clocks will show which";
                Some(waits(reason, LATER, true))
            }
            SteppedClock::Undecided | SteppedClock::Nodes => {
                self.hold_for_quarantine(check, Cause::Stepped);
                // Other clients judge for themselves.
                let is_judged = match (&step.before, found) {
                    (Found::Marker(before), Found::Marker(now)) => !before.is_like(now),
                    (before, now) => before != now,
                };
                if is_judged {
                    return None;
                }
                self.step = Some(step);
                Some(self.quarantine(check, Cause::Stepped))
            }
        }
    }

    /// Obeys a marker of this very process.
    fn follow(&mut self, check: &CheckAnswer<'_>, found: &Marker) -> Action {
        if let (Some(seen), Cause::Opening | Cause::New) = (&self.seen, found.cause)
            && !self.is_as(seen, check, found)
        {
            // A client that had not seen the node in use took it for new.
            let cause = lost_by(seen, check);
            self.hold_for_quarantine(check, cause);
        }
        if found.cause == Cause::Opening {
            return self.open(check);
        }
        let quarantine = self.peers.quarantine();
        // The process that wrote it may have known a shorter `max_ttl` only.
        let least = found.since.min(check.time).saturating_add(quarantine);
        let until = match found.until {
            Duration::ZERO => Duration::ZERO,
            until => until.max(least),
        };
        let left = until.saturating_sub(check.time);
        if left > quarantine {
            return self.forgot(check, Cause::Invalid);
        }
        if !left.is_zero() {
            self.hold_for(left, found.cause, check);
        }
        if self.left(check).is_zero() {
            self.held = None;
            return Action::Vote;
        }
        self.hold(check)
    }

    /// The set is being opened, by this process or by another one. The node has its marker still, so
    /// it has forgotten nothing since, and may vote once that can be said of all the others.
    fn open(&mut self, check: &CheckAnswer<'_>) -> Action {
        let is_complete = self.peers.is_opening(self.seat, check.answered);
        match self.held {
            // This client knows that the set was in use, and no node votes yet.
            Some((_, cause)) if !self.left(check).is_zero() => self.quarantine(check, cause),
            _ if is_complete => self.write(check, Duration::ZERO, Cause::New),
            _ => waits(
                "its set is new, and is opened when a majority of the pools is marked",
                AT_ONCE,
                false,
            ),
        }
    }

    /// Decides for a node without a marker, on which this client has never seen one.
    fn blank(&mut self, check: &CheckAnswer<'_>) -> Action {
        match self.peers.is_blank(self.seat, check.answered) {
            SetView::New => {
                let until = check.time.saturating_add(OPENING);
                self.write(check, until, Cause::Opening)
            }
            SetView::Undecided => waits(
                "it is blank; whether the set is new is not known until the other nodes have answered",
                AT_ONCE,
                false,
            ),
            SetView::OutOfReach => waits(
                "it is blank, and whether the set is new is not known until a majority of the pools \
                 is reachable",
                LATER,
                true,
            ),
            // A client that opens a set marks all nodes that it reaches before. So this one has
            // forgotten its marker, or was not reached. If it is being marked at this moment, the
            // write finds the marker, and this client follows that.
            SetView::InUse => self.quarantine(check, Cause::Late),
        }
    }

    /// The node forgot its grants, by what this client knows.
    fn forgot(&mut self, check: &CheckAnswer<'_>, cause: Cause) -> Action {
        // This also holds if the write of another client, with any marker, comes first.
        self.hold_for_quarantine(check, cause);
        self.quarantine(check, cause)
    }

    fn quarantine(&self, check: &CheckAnswer<'_>, cause: Cause) -> Action {
        let until = check.time.saturating_add(self.peers.quarantine());
        self.write(check, until, cause)
    }

    /// The write that raises the `max_ttl` in the marker to this process's own, if it is shorter; otherwise
    /// `action`. The node does not vote before: other processes have to know for how long locks may live.
    fn raised(&self, check: &CheckAnswer<'_>, found: &Found, action: Action) -> Action {
        let max_ttl = self.peers.max_ttl;
        let found = found.marker().filter(|it| is_ours(check, it));
        match found {
            Some(found) if found.max_ttl < max_ttl && !matches!(action, Action::Write(_)) => {
                let found = found.clone();
                replace(check, Marker { max_ttl, ..found })
            }
            _ => action,
        }
    }

    fn write(&self, check: &CheckAnswer<'_>, until: Duration, cause: Cause) -> Action {
        let max_ttl = match cause {
            // No lock is held, so none lives for longer than this process knows.
            Cause::Idle => self.peers.max_ttl,
            _ => self.peers.longest_max_ttl(),
        };
        let marker = Marker {
            run_id: Marker::UNKNOWN.to_owned(),
            since: check.time,
            cause,
            max_ttl,
            until,
        };
        replace(check, marker)
    }

    fn hold(&self, check: &CheckAnswer<'_>) -> Action {
        let left = self.left(check);
        let cause = self
            .held
            .map_or("it was not checked yet", |(_, cause)| cause.text());
        let reason = format!(
            "{cause}, so it may have forgotten locks; it votes again within {}",
            Brief(left)
        );
        waits(reason, left.clamp(AT_ONCE, LATEST), true)
    }

    /// How long the node does not vote by this client's own clock.
    fn left(&self, check: &CheckAnswer<'_>) -> Duration {
        let until = self.held.map_or(check.answered, |(until, _)| until);
        until.saturating_since(check.answered)
    }

    fn hold_for_quarantine(&mut self, check: &CheckAnswer<'_>, cause: Cause) {
        self.hold_for(self.peers.quarantine(), cause, check);
    }

    fn hold_for(&mut self, span: Duration, cause: Cause, check: &CheckAnswer<'_>) {
        let until = check.answered.saturating_add(span);
        let until = self.held.map_or(until, |(before, _)| before.max(until));
        self.held = Some((until, cause));
    }
}

fn waits(reason: impl Into<String>, look_again: Duration, is_settled: bool) -> Action {
    Action::Hold {
        reason: reason.into(),
        look_again,
        is_settled,
    }
}

/// Writes `marker` as that of the present process.
fn replace(check: &CheckAnswer<'_>, mut marker: Marker) -> Action {
    let run_id = check.run_id.unwrap_or(Marker::UNKNOWN);
    run_id.clone_into(&mut marker.run_id);
    Action::Write(MarkerWrite {
        expected: check.marker.map(<[u8]>::to_vec),
        new: marker.to_bytes(),
        not_after: check.time.saturating_add(WRITES_WITHIN),
    })
}

/// True if the marker is that of the node's present process, as far as this is known.
fn is_ours(check: &CheckAnswer<'_>, found: &Marker) -> bool {
    check.run_id.is_none_or(|run_id| run_id == found.run_id)
}

/// How a node that was seen in use came to have no marker.
fn lost_by(seen: &Marker, check: &CheckAnswer<'_>) -> Cause {
    if is_ours(check, seen) {
        Cause::Flushed
    } else {
        Cause::Restarted
    }
}
