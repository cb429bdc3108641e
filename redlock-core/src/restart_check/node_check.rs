//! The restart check of one node: its rules, and why clients that disagree stay safe.
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

/// The time from a check to its write, at most, by the node's clock.
const WRITES_WITHIN: Duration = Duration::from_secs(2);

/// The pause before the next check, if something changes within milliseconds.
const AT_ONCE: Duration = Duration::from_millis(25);

/// The pause before the next check, if the verdict on this node waits for other nodes.
const LATER: Duration = Duration::from_millis(250);

/// The longest pause between two checks of a node in quarantine.
const QUARANTINE_LOOK: Duration = Duration::from_secs(5);

/// The answer of a node that was asked for its time and its marker.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct CheckAnswer<'a> {
    /// The `run_id` of the server on this connection; `None` if the ACL hides it.
    pub run_id: Option<&'a str>,
    /// The node's marker; after the write, if the check had one.
    pub marker: Option<&'a [u8]>,
    /// The node's clock, since the Unix epoch.
    pub time: Duration,
    /// The moment at which the client sent the check, on its monotonic clock.
    pub asked: Moment,
    /// The moment at which the answer arrived, on the same clock.
    pub answered: Moment,
}

impl<'a> CheckAnswer<'a> {
    /// Returns the answer of a blank node with a hidden `run_id`. The node's clock showed `time`; the client's clock
    /// showed `asked` and `answered`.
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
        /// Sets the node's [`run_id`](field@Self::run_id).
        run_id: impl Into<Option<&'a str>>;

        /// Sets the node's [marker](field@Self::marker).
        marker: impl Into<Option<&'a [u8]>>;
    }
}

/// The verdict of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verdict {
    /// The next step with the node.
    pub action: Action,
    /// True if the node may have forgotten its earlier grants to this client.
    pub is_new_epoch: bool,
    /// The step of the node's clock since the last check, in ms; positive if forwards.
    pub stepped_ms: Option<i64>,
}

/// The next step with a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Action {
    /// The node may vote.
    Vote,
    /// The node has to wait before it votes.
    #[non_exhaustive]
    Hold {
        /// The reason. The text before the `;` stays while the reason does.
        reason: String,
        /// The remaining time of the quarantine; zero if the verdict waits for other nodes.
        left: Duration,
        /// The longest time until the next check.
        look_again: Duration,
        /// True if the node stays like this for now. If false, the next checks decide within moments, so a start should
        /// wait for them.
        is_settled: bool,
    },
    /// The node has to wait. Write its marker, and check the answer to that write.
    Write(MarkerWrite),
    /// The node has to wait for an operator. End the connection, and check again on another one. The text says why, and
    /// what to do.
    Refuse(String),
}

/// A write of the marker, in one atomic step with the check that follows.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MarkerWrite {
    /// The marker before the write; `None` if it must be missing. With any other marker, the write must do nothing.
    pub expected: Option<Vec<u8>>,
    /// The marker after the write.
    pub new: Vec<u8>,
    /// The last moment for the write, since the Unix epoch, by the node's clock. A later write must do nothing.
    pub not_after: Duration,
}

/// The restart check of one node. It lives as long as its client, across all connections.
#[derive(Debug)]
pub struct NodeCheck {
    pub(crate) peers: Arc<CheckedSet>,
    seat: usize,
    trust_aof: bool,
    /// True if the last check found the operator's word.
    saw_word: bool,
    /// The last marker other than `opening` that this client found on the node.
    seen: Option<Marker>,
    /// True if this client let the node vote in the present epoch.
    has_voted: bool,
    /// The end of the quarantine on the client's own clock, and its reason. The client keeps it in addition to the
    /// marker, because the marker shows only the last write. Another client may have taken the set for new since, or
    /// the node's clock may have jumped ahead.
    held: Option<(Moment, Cow<'static, str>)>,
    /// A step of the clock that is still to be judged. True once the marker has changed since, because then another
    /// client has judged the step.
    step: Option<bool>,
}

impl NodeCheck {
    /// Makes the check of the node `name`, and adds the node to `peers`. With `trust_aof`, the node keeps everything
    /// across a restart, so a restart needs no quarantine. A missing marker still needs one.
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

    /// Records that the node is out of reach. Call this after each failed attempt to connect, after a refusal, and
    /// after a lost connection. The checks of the other nodes wait for the first attempt.
    pub fn unreachable(&mut self) {
        self.peers.seats.lock()[self.seat].finding = Finding::Unreachable;
    }

    /// Calls `listener` whenever the node should be checked at once, for another node's sake. The listener must not
    /// call this node check.
    pub fn on_doubt(&self, listener: EpochListener) {
        self.peers.seats.lock()[self.seat].on_doubt = Some(listener);
    }

    /// Judges a check. The caller must obey the newest verdict exactly.
    ///
    /// # Errors
    /// The node must not vote, because it is the same server as another node. The text names both nodes, and the fix.
    pub fn check(&mut self, check: &CheckAnswer<'_>) -> Result<Verdict, String> {
        let facts = self.peers.record(self.seat, check, self.trust_aof)?;
        let mut verdict = Verdict {
            action: Action::Vote,
            is_new_epoch: false,
            stepped_ms: facts.stepped_ms,
        };
        // With the restart check off, the node votes even after a step. A single pool has no quorum to fall back on,
        // and for several pools the operator chose to go on.
        if self.peers.restart_check() == RestartCheck::Off {
            return Ok(verdict);
        }
        // A clock that was set back only lets keys live longer.
        let has_stepped_ahead = facts.stepped_ms.is_some_and(|ms| ms > 0);
        let is_as_before = self.is_as_before(&facts);
        verdict.is_new_epoch = self.has_voted && (has_stepped_ahead || !is_as_before);
        let is_idle = match &facts.found {
            Found::Word => true,
            Found::Marker(it) => it.cause == IDLE && it.is_of(check),
            Found::Nothing | Found::Garbage | Found::Foreign(_) => false,
        };
        // The operator's word, or its marker, clears the reasons from earlier answers. The code below records what this
        // answer shows.
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

    /// True if the marker is the last one seen, so the node kept its locks.
    fn is_as_before(&self, facts: &CheckFacts<'_>) -> bool {
        let (Some(seen), Found::Marker(found)) = (&self.seen, &facts.found) else {
            return false;
        };
        let is_same_process = found.run_id == seen.run_id && found.is_of(facts.check);
        found.since == seen.since && (self.trust_aof || is_same_process)
    }

    fn judge(&mut self, facts: &CheckFacts<'_>) -> Action {
        if let Found::Foreign(format) = facts.found {
            // Clients of that format may hold locks here. Once their marker is gone, a third client may open the node.
            self.hold_from(facts.check.time, FOREIGN.into(), facts);
            return self.refuse(format);
        }
        // Clients of the other format leave our markers, so a node with one is ours. Any other node may be theirs.
        let is_ours = matches!(facts.found, Found::Marker(_));
        if !is_ours && matches!(facts.set, SetView::Foreign | SetView::Untried) {
            let reason = "it is left as it is until each node was tried and none has the marker of another wire format";
            return await_others(reason, facts.set == SetView::Foreign);
        }
        match self.step.map(|is_judged| (facts.whose_step, is_judged)) {
            None => {}
            Some((SteppedClock::Undecided, _)) => {
                let reason = "its clock stepped ahead, or this host stood still; the other \
                              nodes' clocks will show which";
                return await_others(reason, false);
            }
            // The new epoch has ended all leases. The nodes still have their keys.
            Some((SteppedClock::Ours, _)) => self.step = None,
            // The node has dropped locks early.
            Some((SteppedClock::Nodes, false)) => return self.distrust(facts, STEPPED),
            Some((SteppedClock::Nodes, true)) => {
                self.hold_from(facts.check.time, STEPPED.into(), facts);
                self.step = None;
            }
        }
        match &facts.found {
            Found::Marker(it) if it.is_of(facts.check) => self.obey_marker(facts, it),
            // Only the `run_id` changes, so a quarantine continues after the restart.
            Found::Marker(kept) if self.trust_aof => replace(facts.check, kept.clone()),
            Found::Marker(_) => self.distrust(facts, RESTARTED),
            Found::Garbage | Found::Foreign(_) => self.distrust(facts, INVALID),
            // If the same answer showed a reason to wait, a later client writes the marker.
            Found::Word => (self.own_quarantine(facts)).unwrap_or_else(|| self.write(facts, IDLE)),
            Found::Nothing if self.seen.is_some() => self.distrust(facts, self.loss_cause(facts)),
            Found::Nothing if self.peers.restart_check() == RestartCheck::Strict => {
                self.distrust(facts, STRICT)
            }
            Found::Nothing => match facts.set {
                SetView::New | SetView::Marked => self.write(facts, OPENING),
                // A client that opens a set first marks all nodes that it reaches. So this node has forgotten its
                // marker, or was out of reach. If that client is marking the node right now, this write fails, and this
                // client follows the other's marker.
                SetView::InUse => self.write(facts, LATE),
                _ => await_others(
                    "it is blank; whether the set is new is not known until a majority of the pools is reachable",
                    true,
                ),
            },
        }
    }

    /// Obeys a marker of the node's present process.
    fn obey_marker(&mut self, facts: &CheckFacts<'_>, found: &Marker) -> Action {
        let time = facts.check.time;
        match &*found.cause {
            // A client that missed the node in use takes the node for new. No node votes yet.
            OPENING if self.seen.is_some() => {
                return self.distrust(facts, self.loss_cause(facts));
            }
            NEW if self.seen.is_some() && !self.is_as_before(facts) => {
                self.hold_from(time, self.loss_cause(facts).into(), facts);
            }
            // The client that opened the set may have missed the node of the other format.
            OPENING | NEW if facts.set == SetView::Foreign => {
                self.hold_from(found.since, FOREIGN.into(), facts);
            }
            OPENING | NEW | IDLE => {}
            _ if found.since > time => return self.distrust(facts, INVALID),
            _ => self.hold_from(found.since, found.cause.clone(), facts),
        }
        let max_ttl = self.peers.max_ttl;
        // Raise the marker's `max_ttl` even while the node waits. Other clients need it for their quarantines.
        if found.cause != OPENING && found.max_ttl < max_ttl {
            let found = found.clone();
            return replace(facts.check, Marker { max_ttl, ..found });
        }
        match self.own_quarantine(facts) {
            Some(hold) => hold,
            // The marker is still there, so the node kept its memory. It may vote once the reached nodes are a
            // majority, and each has a marker.
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

    /// Refuses a node with the marker of another wire format, and keeps that marker. Two versions that replaced each
    /// other's markers would stop each other's votes.
    fn refuse(&self, format: u32) -> Action {
        let name = Arc::clone(&self.peers.seats.lock()[self.seat].name);
        Action::Refuse(format!(
            "`{name}` has the marker of wire format {format}, and this process has wire format {WIRE_FORMAT}: the two do \
             not exclude each other; stop all processes of format {format} and, once no lock is held, set the key `{}` \
             of each node to \"idle\", or stay with a version of format {format}",
            self.peers.marker_key().escape_ascii(),
        ))
    }

    /// Begins a quarantine, because the node may have forgotten its grants.
    fn distrust(&mut self, facts: &CheckFacts<'_>, cause: &'static str) -> Action {
        // Wait even if another client writes first, with any marker.
        self.hold_from(facts.check.time, cause.into(), facts);
        self.write(facts, cause)
    }

    /// Returns the cause for a node in use that lost its marker, or has the marker of a new set.
    fn loss_cause(&self, facts: &CheckFacts<'_>) -> &'static str {
        match &self.seen {
            Some(seen) if seen.is_of(facts.check) => FLUSHED,
            _ => RESTARTED,
        }
    }

    fn write(&self, facts: &CheckFacts<'_>, cause: &'static str) -> Action {
        let max_ttl = match cause {
            // An operator said that all locks are over. So the `max_ttl` of other clients no longer counts.
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

    /// Returns the quarantine on this client's own clock, if it is still running.
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

    /// Holds the node for a quarantine that began at `since` on its clock. The longest `max_ttl` that this client knows
    /// counts, because the marker's writer may have known a shorter one.
    fn hold_from(&mut self, since: Duration, cause: Cow<'static, str>, facts: &CheckFacts<'_>) {
        let end = since.saturating_add(quarantine(facts.longest_max_ttl));
        let left = end.saturating_sub(facts.check.time);
        let until = facts.check.answered.saturating_add(left);
        if (self.held.as_ref()).is_none_or(|(before, _)| *before < until) {
            self.held = Some((until, cause));
        }
    }
}

/// Holds the node until other nodes decide: within moments, unless it `is_settled`.
fn await_others(reason: &str, is_settled: bool) -> Action {
    Action::Hold {
        reason: reason.to_owned(),
        left: Duration::ZERO,
        look_again: if is_settled { LATER } else { AT_ONCE },
        is_settled,
    }
}

/// Writes `marker` with the `run_id` of the present process.
fn replace(check: &CheckAnswer<'_>, mut marker: Marker) -> Action {
    let run_id = check.run_id.unwrap_or(Marker::UNKNOWN);
    run_id.clone_into(&mut marker.run_id);
    Action::Write(MarkerWrite {
        expected: check.marker.map(<[u8]>::to_vec),
        new: marker.to_bytes(),
        not_after: check.time.saturating_add(WRITES_WITHIN),
    })
}
