//! One node's guard: what each check of it means.

use std::sync::Arc;
use std::time::Duration;

use crate::environment::Moment;
use crate::error::Brief;

use super::clock::NodeClock;
use super::fleet::SetView;
use super::steps::Whose;
use super::{Action, Check, Fleet, GRACE, Marker, RestartGuard, Verdict, WRITES_WITHIN};

/// A quarantine that is longer than this, and than the client's own, is no quarantine but garbage.
const WILD: Duration = Duration::from_secs(24 * 60 * 60);

/// When to look again at what changes within milliseconds.
const AT_ONCE: Duration = Duration::from_millis(25);
/// When to look again at a node that another process may be opening.
const SOON: Duration = Duration::from_millis(250);
/// When to look again at a set of which no majority is reachable.
const LATER: Duration = Duration::from_millis(500);
/// How long to wait for the other nodes to tell whose clock stepped: longer than they are asked in
/// any case. Whose it was is then taken to be the node's.
const UNDECIDED: Duration = Duration::from_secs(30);
/// A node in quarantine is looked at no less often.
const LATEST: Duration = Duration::from_secs(5);

/// How a [`Sentry`] behaves.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct SentryOptions {
    /// The node forgets nothing when it restarts, so a restart needs no quarantine. A marker that
    /// is missing still does.
    pub trust_aof: bool,
}

/// The guard of one node, for as long as its client lives, over all connections.
#[derive(Debug)]
pub struct Sentry {
    fleet: Arc<Fleet>,
    name: Arc<str>,
    seat: usize,
    options: SentryOptions,
    /// No vote before then, on the client's own clock: a node's clock that jumps ahead does not
    /// end a quarantine for a client that saw it.
    held_until: Option<Moment>,
    /// A marker was there once: a node without one has lost it.
    has_seen_marker: bool,
    /// The marker under which the node last voted, in this epoch.
    voted_under: Option<Marker>,
    /// Since when the node has been blank beside marked ones, on this connection.
    blank_since: Option<Moment>,
    /// The last marker that was seen, as it is on the node.
    last_marker: Option<Vec<u8>>,
    /// A step of which it is not known yet whose clock it was.
    suspicion: Option<Suspicion>,
    /// A step whose quarantine is not on the node yet.
    unwritten: Option<Unwritten>,
    clock: NodeClock,
    /// Whose clock that is, as far as the server tells.
    run_id: Option<String>,
}

#[derive(Debug)]
struct Suspicion {
    by_us: i128,
    /// The marker before the step was seen.
    marker: Option<Vec<u8>>,
    seen: Moment,
}

#[derive(Debug)]
struct Unwritten {
    /// The marker that the quarantine is to replace; once it is another one, others have judged.
    marker: Option<Vec<u8>>,
    why: String,
}

impl Sentry {
    /// The guard of the node `name`, which joins `fleet`.
    pub fn new(fleet: Arc<Fleet>, name: impl Into<Arc<str>>, options: SentryOptions) -> Self {
        let name = name.into();
        let seat = fleet.join(Arc::clone(&name));
        Self {
            fleet,
            name,
            seat,
            options,
            held_until: None,
            has_seen_marker: false,
            voted_under: None,
            blank_since: None,
            last_marker: None,
            suspicion: None,
            unwritten: None,
            clock: NodeClock::default(),
            run_id: None,
        }
    }

    /// The node was not reached, was refused, or its connection is gone. To be called whenever an
    /// attempt to connect fails, the first one too: the others wait for it.
    pub fn unreachable(&mut self) {
        self.fleet.is_unreachable(self.seat);
        self.blank_since = None;
    }

    /// What a check comes to. The node must do nothing else than what the newest verdict says.
    pub fn check(&mut self, check: &Check<'_>) -> Verdict {
        self.forget_the_clock_of_another(check);
        let (stepped, is_sharp) = self.clock.read(check);
        if is_sharp || stepped.is_some() {
            self.fleet.note_clock(self.seat, check, stepped);
        }
        let twin = self.fleet.twin(self.seat, check.run_id);
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
            // Where nothing is done about a node that forgets, a step is no reason to do without
            // it either: a single pool has no quorum to fall back on, and whoever turned the guard
            // off for several chose to go on. The step is told, for the log.
            None if self.fleet.guard() == RestartGuard::Off => Action::Vote,
            None => self.guard(check, stepped),
        };
        let marker = check.marker.and_then(Marker::parse);
        let is_new_epoch = stepped.is_some() && self.voted_under.is_some()
            || self
                .voted_under
                .as_ref()
                .is_some_and(|under| !self.is_under(under, marker.as_ref()));
        if is_new_epoch {
            self.voted_under = None;
        }
        if action == Action::Vote && self.fleet.guard() != RestartGuard::Off {
            self.voted_under = marker;
        }
        self.last_marker = check.marker.map(<[u8]>::to_vec);
        Verdict {
            action,
            is_new_epoch,
            stepped_ms: stepped.map(|us| i64::try_from(us / 1000).unwrap_or(i64::MAX)),
        }
    }

    /// A promoted replica is on another host, whose clock is not the one that was read before: the
    /// difference is no step. With `trust_aof` no other server takes the node's place, and a step
    /// that a restart hides has to be seen.
    fn forget_the_clock_of_another(&mut self, check: &Check<'_>) {
        if check.run_id.is_some() && check.run_id != self.run_id.as_deref() {
            if self.run_id.is_some() && !self.options.trust_aof {
                self.clock = NodeClock::default();
            }
            self.run_id = check.run_id.map(str::to_owned);
        }
    }

    fn guard(&mut self, check: &Check<'_>, stepped: Option<i128>) -> Action {
        let marker = check.marker.and_then(Marker::parse);
        let is_marked = check.marker.is_some();
        let lost_it = !is_marked && self.has_seen_marker;
        if is_marked {
            self.has_seen_marker = true;
            self.blank_since = None;
            self.fleet.is_marked(self.seat);
        }
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
            .take_if(|it| it.marker.as_deref() == check.marker)
        {
            let action = self.quarantine(check, &step.why);
            self.unwritten = Some(step);
            return action;
        }
        self.unwritten = None;
        match marker {
            Some(marker) if check.run_id.is_none_or(|run_id| run_id == marker.run_id) => {
                self.follow(check, &marker)
            }
            Some(marker) if self.options.trust_aof => {
                let new = Marker::new(check.run_id, marker.until());
                Self::write(
                    check,
                    &new,
                    "it restarted; its marker is being renewed".into(),
                )
            }
            Some(_) => self.forgot(check, "it restarted, or is another server than before"),
            None if is_marked => self.forgot(check, "its marker makes no sense"),
            None if lost_it => self.forgot(check, "it lost its keys"),
            None if self.fleet.guard() == RestartGuard::Strict => {
                self.forgot(check, "it has no marker, and the guard is strict")
            }
            None => self.blank(check),
        }
    }

    /// A marker of this very process: the quarantine that it tells of, or none.
    fn follow(&mut self, check: &Check<'_>, marker: &Marker) -> Action {
        let quarantine = self.fleet.quarantine();
        let left = marker.until().saturating_sub(check.time);
        if left > quarantine.max(WILD) {
            return self.forgot(check, "its marker makes no sense");
        }
        if !left.is_zero() {
            self.hold_for(left.min(quarantine), check.answered);
        }
        let held = self.held_until.unwrap_or(check.answered);
        let left = left.max(held.saturating_since(check.answered));
        if left.is_zero() {
            self.held_until = None;
            return Action::Vote;
        }
        Action::Hold {
            reason: format!(
                "it may have forgotten locks, or dropped them early; it votes again in {}",
                Brief(left),
            ),
            look_again: left.clamp(AT_ONCE, LATEST),
            is_settled: true,
        }
    }

    /// The node forgot what it granted, for all this client knows.
    fn forgot(&mut self, check: &Check<'_>, why: &str) -> Action {
        let quarantine = self.fleet.quarantine();
        // Also where somebody else's write comes first, whatever it says.
        self.hold_for(quarantine, check.answered);
        self.quarantine(check, why)
    }

    fn quarantine(&self, check: &Check<'_>, why: &str) -> Action {
        let quarantine = self.fleet.quarantine();
        let new = Marker::new(check.run_id, check.time.saturating_add(quarantine));
        let reason = format!(
            "{why}, so it may have forgotten locks; it votes again in {}",
            Brief(quarantine),
        );
        Self::write(check, &new, reason)
    }

    /// What a step that was seen comes to, if anything.
    fn suspect(&mut self, check: &Check<'_>) -> Option<Action> {
        let suspicion = self.suspicion.take()?;
        let waited = check.answered.saturating_since(suspicion.seen);
        match self.fleet.whose_step(self.seat) {
            // All leases were given up with the epoch; the nodes are as they were.
            Whose::Ours => None,
            Whose::Undecided if waited < UNDECIDED => {
                let why = stepped(suspicion.by_us);
                self.suspicion = Some(suspicion);
                Some(Action::Hold {
                    reason: format!("{why}, or this host's did; the other nodes will tell"),
                    look_again: SOON,
                    is_settled: true,
                })
            }
            Whose::Undecided | Whose::Nodes => Some(self.step(check, &suspicion)),
        }
    }

    /// The node's clock stepped: it dropped locks early, or will drop them late.
    fn step(&mut self, check: &Check<'_>, suspicion: &Suspicion) -> Action {
        let quarantine = self.fleet.quarantine();
        self.hold_for(quarantine, check.answered);
        let why = stepped(suspicion.by_us);
        if check.marker != suspicion.marker.as_deref() {
            // Since the check before, somebody has done something about this node, or it has not
            // been asked for long. What others do is theirs to judge; this client waits.
            return Action::Hold {
                reason: format!("{why}; it votes again in {}", Brief(quarantine)),
                look_again: AT_ONCE,
                is_settled: true,
            };
        }
        let action = self.quarantine(check, &why);
        self.unwritten = Some(Unwritten {
            marker: check.marker.map(<[u8]>::to_vec),
            why,
        });
        action
    }

    /// No marker, and never one that this client saw.
    fn blank(&mut self, check: &Check<'_>) -> Action {
        match self.fleet.is_blank(self.seat, check.answered) {
            SetView::New => {
                let new = Marker::new(check.run_id, check.time);
                Self::write(check, &new, "the set is new, and is being opened".into())
            }
            SetView::Undecided => Action::Hold {
                reason: "it is blank; whether the set is new shows when the others were asked"
                    .into(),
                look_again: AT_ONCE,
                is_settled: false,
            },
            SetView::OutOfReach => Action::Hold {
                reason: "it is blank, and whether the set is new is not known until a majority of \
                         the pools is reachable"
                    .into(),
                look_again: LATER,
                is_settled: true,
            },
            SetView::InUse => {
                let since = *self.blank_since.get_or_insert(check.answered);
                if check.answered.saturating_since(since) >= GRACE {
                    // If another process opens it in this very moment, that one saw a new set.
                    return self.quarantine(check, "it is blank, and others of its set are not");
                }
                Action::Hold {
                    reason: "it is blank; another process may be opening the set".into(),
                    look_again: SOON,
                    is_settled: false,
                }
            }
        }
    }

    fn write(check: &Check<'_>, new: &Marker, reason: String) -> Action {
        Action::Write {
            expected: check.marker.map(<[u8]>::to_vec),
            new: new.to_bytes(),
            not_after: check.time.saturating_add(WRITES_WITHIN),
            reason,
        }
    }

    fn hold_for(&mut self, span: Duration, now: Moment) {
        self.held_until = self.held_until.max(Some(now.saturating_add(span)));
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

fn stepped(by_us: i128) -> String {
    let direction = if by_us > 0 { "ahead" } else { "back" };
    format!(
        "its clock stepped {} ms {direction}",
        by_us.unsigned_abs() / 1000
    )
}
