//! The restart check of one node: its rules, and why clients that follow them do not disagree unsafely.
#![doc = include_str!("voting_rules.md")]

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::model::brief::Brief;
use crate::node::{EpochListener, WIRE_FORMAT};
use crate::setters::setters;

use super::checked_set::{CheckFacts, Finding, SetView};
use super::clock::SteppedClock;
use super::marker::{
    FLUSHED, FOREIGN, Found, IDLE, INVALID, LATE, Marker, NEW, OPENING, RESTARTED, STEPPED, STRICT,
    quarantine,
};
use super::{CheckedSet, RestartCheck};

/// The time after a check within which its marker may be written, by the node's clock.
const WRITES_WITHIN: Duration = Duration::from_secs(2);

/// The pause before the next check of what changes within milliseconds.
const AT_ONCE: Duration = Duration::from_millis(25);

/// The pause before the next check if other nodes decide.
const LATER: Duration = Duration::from_millis(250);

/// The longest pause between two checks of a node in quarantine.
const QUARANTINE_LOOK: Duration = Duration::from_secs(5);

/// The answer of a node that was asked for its time and its marker.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
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

impl<'a> CheckAnswer<'a> {
    /// Returns the answer of a node whose clock showed `time`, without a process and a marker. The client's clock showed
    /// `asked` and `answered`.
    pub fn new(time: Duration, asked: Moment, answered: Moment) -> Self {
        Self {
            run_id: None,
            marker: None,
            time,
            asked,
            answered,
        }
    }

    setters! {
        /// Sets the [process](field@Self::run_id) of the node.
        run_id: impl Into<Option<&'a str>>;

        /// Sets the node's [marker](field@Self::marker).
        marker: impl Into<Option<&'a [u8]>>;
    }
}

/// The verdict of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// What to do.
    pub action: Action,
    /// True if the node may have forgotten what it granted to this client before.
    pub is_new_epoch: bool,
    /// The step of the node's clock since the check before, in ms; positive if forwards.
    pub stepped_ms: Option<i64>,
}

/// The next step with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// It may vote.
    Vote,
    /// It must not vote yet.
    #[non_exhaustive]
    Hold {
        /// Why. The text before the `;` does not change with time.
        reason: String,
        /// The remaining time of the quarantine; zero if other nodes decide.
        left: Duration,
        /// When to check again, at the latest.
        look_again: Duration,
        /// True if the node stays like this for now. False if that is decided in a moment, for
        /// which a start should wait.
        is_settled: bool,
    },
    /// It must not vote; set its marker, and check again with what the node answers to that.
    Write(MarkerWrite),
    /// It must not vote until an operator has acted: end the connection, and check again on another one. The text says
    /// why, and what to do.
    Refuse(String),
}

/// A marker to be set, in one step, if the marker still is `expected`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
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
    pub(crate) peers: Arc<CheckedSet>,
    seat: usize,
    trust_aof: bool,
    /// True if the last check found the operator's word.
    saw_word: bool,
    /// The marker under which the node was last seen in use by any client.
    seen: Option<Marker>,
    /// True if the node voted under that marker.
    has_voted: bool,
    /// The end of the quarantine on the client's own clock, and its reason. It counts beside the marker, which shows
    /// the last write only: a client may have taken the set for new, or the node's clock has jumped ahead since.
    held: Option<(Moment, Cow<'static, str>)>,
    /// A step of the node's clock that is not written down, and may be this host's. True once the marker was replaced
    /// since: another client has judged.
    step: Option<bool>,
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
            saw_word: false,
            seen: None,
            has_voted: false,
            held: None,
            step: None,
        }
    }

    /// The node was not reached, was refused, or its connection is gone. To be called whenever an
    /// attempt to connect fails, the first one too: the others wait for it.
    pub fn unreachable(&mut self) {
        self.peers.seats.lock()[self.seat].finding = Finding::Unreachable;
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
        let facts = self.peers.record(self.seat, check, self.trust_aof)?;
        let mut verdict = Verdict {
            action: Action::Vote,
            is_new_epoch: false,
            stepped_ms: facts.stepped_ms,
        };
        // With the restart check off, a step is no reason to close a node either: a single pool has
        // no quorum to fall back on, and for several pools the operator chose to go on.
        if self.peers.restart_check() == RestartCheck::Off {
            return Ok(verdict);
        }
        // Keys of a node whose clock was set back live longer, which takes no lock from its holder.
        let has_stepped_ahead = facts.stepped_ms.is_some_and(|ms| ms > 0);
        let is_as_before = self.is_as_before(&facts);
        verdict.is_new_epoch = self.has_voted && (has_stepped_ahead || !is_as_before);
        let is_idle = match &facts.found {
            Found::Word => true,
            Found::Marker(it) => it.cause == IDLE && it.is_of(check),
            Found::Nothing | Found::Garbage | Found::Foreign(_) => false,
        };
        // The operator's word ends what was known before, be it the word itself, or the marker for it that the first
        // client that found the word wrote. What the same answer shows is recorded below.
        if is_idle && !is_as_before && !self.saw_word {
            (self.held, self.step) = (None, None);
        }
        let step = has_stepped_ahead.then_some(false).or(self.step);
        self.step = step.map(|is_judged| is_judged || !is_as_before);
        verdict.action = self.judge(&facts);
        self.has_voted = verdict.action == Action::Vote || self.has_voted && !verdict.is_new_epoch;
        self.saw_word = facts.found == Found::Word;
        if let Found::Marker(marker) = facts.found
            && marker.cause != OPENING
        {
            self.seen = Some(marker);
        }
        Ok(verdict)
    }

    /// True if the marker says that nothing was forgotten since the node was last seen in use.
    fn is_as_before(&self, facts: &CheckFacts<'_>) -> bool {
        let (Some(seen), Found::Marker(found)) = (&self.seen, &facts.found) else {
            return false;
        };
        let is_same_process = found.run_id == seen.run_id && found.is_of(facts.check);
        found.since == seen.since && (self.trust_aof || is_same_process)
    }

    fn judge(&mut self, facts: &CheckFacts<'_>) -> Action {
        if let Found::Foreign(format) = facts.found {
            // Its clients may hold locks there, and another client may open the node once that marker is gone.
            self.hold_from(facts.check.time, FOREIGN.into(), facts);
            return self.refuse(format);
        }
        match (&facts.found, &facts.set) {
            // The node may be one of theirs.
            (Found::Marker(_), _) => {}
            (_, SetView::Foreign) => {
                let reason = "it is left as it is, because a node of its set has the marker of another wire format";
                return await_others(reason, true);
            }
            (_, SetView::Untried) => {
                let reason = "whether its set is in use is not known until each node was tried";
                return await_others(reason, false);
            }
            _ => {}
        }
        match self.step.map(|is_judged| (facts.whose_step, is_judged)) {
            None => {}
            Some((SteppedClock::Undecided, _)) => {
                let reason = "its clock stepped ahead, or this host stood still; the other \
                              nodes' clocks will show which";
                return await_others(reason, false);
            }
            // All leases were given up with the epoch; the nodes are as they were.
            Some((SteppedClock::Ours, _)) => self.step = None,
            // The node dropped locks early.
            Some((SteppedClock::Nodes, false)) => return self.distrust(facts, STEPPED),
            Some((SteppedClock::Nodes, true)) => {
                self.hold_from(facts.check.time, STEPPED.into(), facts);
                self.step = None;
            }
        }
        match &facts.found {
            Found::Marker(it) if it.is_of(facts.check) => self.obey_marker(facts, it),
            // Only the `run_id` changes, so a quarantine outlives the restart.
            Found::Marker(kept) if self.trust_aof => replace(facts.check, kept.clone()),
            Found::Marker(_) => self.distrust(facts, RESTARTED),
            Found::Garbage | Found::Foreign(_) => self.distrust(facts, INVALID),
            // If the same answer showed a reason not to vote, a client that comes later writes the marker.
            Found::Word => (self.own_quarantine(facts)).unwrap_or_else(|| self.write(facts, IDLE)),
            Found::Nothing if self.seen.is_some() => self.distrust(facts, self.loss_cause(facts)),
            Found::Nothing if self.peers.restart_check() == RestartCheck::Strict => {
                self.distrust(facts, STRICT)
            }
            Found::Nothing => match facts.set {
                SetView::New | SetView::Marked => self.write(facts, OPENING),
                // A client that opens a set marks all nodes that it reaches before. So this one has
                // forgotten its marker, or was not reached. If it is being marked at this moment, the
                // write finds the marker, and this client follows that.
                SetView::InUse => self.write(facts, LATE),
                _ => await_others(
                    "it is blank; whether the set is new is not known until a majority of the pools is reachable",
                    true,
                ),
            },
        }
    }

    /// Obeys a marker of this very process.
    fn obey_marker(&mut self, facts: &CheckFacts<'_>, found: &Marker) -> Action {
        let time = facts.check.time;
        match &*found.cause {
            // A client that had not seen the node in use takes it for new. No node votes yet.
            OPENING if self.seen.is_some() => {
                return self.distrust(facts, self.loss_cause(facts));
            }
            NEW if self.seen.is_some() && !self.is_as_before(facts) => {
                self.hold_from(time, self.loss_cause(facts).into(), facts);
            }
            // The client that opened the set may have missed that node.
            OPENING | NEW if facts.set == SetView::Foreign => {
                self.hold_from(found.since, FOREIGN.into(), facts);
            }
            OPENING | NEW | IDLE => {}
            _ if found.since > time => return self.distrust(facts, INVALID),
            _ => self.hold_from(found.since, found.cause.clone(), facts),
        }
        let max_ttl = self.peers.max_ttl;
        // Other processes have to know for how long locks may live, also while the node is held.
        if found.cause != OPENING && found.max_ttl < max_ttl {
            let found = found.clone();
            return replace(facts.check, Marker { max_ttl, ..found });
        }
        match self.own_quarantine(facts) {
            Some(hold) => hold,
            // The node has its marker still, so it has forgotten nothing since, and may vote once that can be said of
            // all the others.
            None if found.cause == OPENING && facts.set == SetView::Marked => {
                self.write(facts, NEW)
            }
            None if found.cause == OPENING => await_others(
                "its set is new, and is opened when a majority of the pools is marked",
                matches!(facts.set, SetView::Foreign | SetView::Minority),
            ),
            None => Action::Vote,
        }
    }

    /// Refuses a node that has the marker of another wire format, and leaves that marker: two versions that replaced each
    /// other's markers would keep each other from voting.
    fn refuse(&self, format: u32) -> Action {
        let name = Arc::clone(&self.peers.seats.lock()[self.seat].name);
        Action::Refuse(format!(
            "`{name}` has the marker of wire format {format}, and this process has wire format {WIRE_FORMAT}: the two do \
             not exclude each other; stop all processes of format {format} and, once no lock is held, set the key `{}` \
             of each node to \"idle\", or stay with a version of format {format}",
            self.peers.marker_key().escape_ascii(),
        ))
    }

    /// Begins a quarantine: the node forgot its grants, by all that this client knows.
    fn distrust(&mut self, facts: &CheckFacts<'_>, cause: &'static str) -> Action {
        // This also holds if the write of another client, with any marker, comes first.
        self.hold_from(facts.check.time, cause.into(), facts);
        self.write(facts, cause)
    }

    /// The reason why a node that was seen in use has no marker, or that of a new set.
    fn loss_cause(&self, facts: &CheckFacts<'_>) -> &'static str {
        match &self.seen {
            Some(seen) if seen.is_of(facts.check) => FLUSHED,
            _ => RESTARTED,
        }
    }

    fn write(&self, facts: &CheckFacts<'_>, cause: &'static str) -> Action {
        let max_ttl = match cause {
            // No lock is held, so none lives for longer than this process knows.
            IDLE => self.peers.max_ttl,
            _ => facts.longest_max_ttl,
        };
        let marker = Marker {
            run_id: String::new(),
            since: facts.check.time,
            max_ttl,
            cause: cause.into(),
        };
        replace(facts.check, marker)
    }

    /// The quarantine that this client keeps on its own clock, if it is still running.
    fn own_quarantine(&self, facts: &CheckFacts<'_>) -> Option<Action> {
        let (until, cause) = self.held.as_ref()?;
        let left = until.saturating_since(facts.check.answered);
        (!left.is_zero()).then(|| Action::Hold {
            reason: format!(
                "{cause}, so it may have forgotten locks; it votes again within {}",
                Brief(left)
            ),
            left,
            look_again: left.min(QUARANTINE_LOOK),
            is_settled: true,
        })
    }

    /// Keeps the node from voting for a quarantine that began at `since` on the node's clock. The longest `max_ttl`
    /// that this client knows counts for it: who wrote the marker may have known a shorter one.
    fn hold_from(&mut self, since: Duration, cause: Cow<'static, str>, facts: &CheckFacts<'_>) {
        let end = since.saturating_add(quarantine(facts.longest_max_ttl));
        let left = end.saturating_sub(facts.check.time);
        let until = facts.check.answered.saturating_add(left);
        if (self.held.as_ref()).is_none_or(|(before, _)| *before < until) {
            self.held = Some((until, cause));
        }
    }
}

/// Other nodes decide; in a moment, unless it `is_settled`.
fn await_others(reason: &str, is_settled: bool) -> Action {
    Action::Hold {
        reason: reason.to_owned(),
        left: Duration::ZERO,
        look_again: if is_settled { LATER } else { AT_ONCE },
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
