//! Records of what clients submit, what nodes serve, and what clients are answered.

use std::sync::Arc;
use std::time::Duration;

use crate::operation::{Operation, Want};
use redlock_core::Resource;
use redlock_core::node::Vote;
use redlock_core::quorum::majority;

use super::{Attempt, Extension, History, Invariant, Seat};
use crate::world::ProcessId;

/// An operation that a node served, and its effect.
pub struct Served<'a> {
    /// The node.
    pub seat: usize,
    /// The process that asked.
    pub process: ProcessId,
    /// Its connection had been given up.
    pub is_late: bool,
    /// The operation.
    pub operation: &'a Arc<Operation>,
    /// The answer.
    pub answer: &'a Vote,
    /// The keys' values before and after.
    pub before: Vec<Option<Vec<u8>>>,
    /// See [`before`](Self::before).
    pub after: Vec<Option<Vec<u8>>>,
    /// The counters before and after.
    pub counted: Vec<u64>,
    /// See [`counted`](Self::counted).
    pub counts: Vec<u64>,
    /// An extension let keys live for less than before.
    pub is_shortened: bool,
    /// When the first of the permits became free that were free before; for an attempt at one of several.
    pub free_since: Option<Duration>,
    /// The node's readers and writers before and after the operation.
    pub shared: Option<[SharedState; 2]>,
}

/// The readers and writers of one lock that a node has stored.
pub struct SharedState {
    /// The value of the key, and its remaining time.
    pub key: Option<(Vec<u8>, Duration)>,
    /// The readers' tokens, with the remaining time of each.
    pub readers: Vec<(Vec<u8>, Duration)>,
    /// The id of a waiting writer.
    pub intent: Option<Vec<u8>>,
}

impl Attempt {
    fn new(process: ProcessId, operation: &Operation, now: Duration, nodes: usize) -> Self {
        Self {
            process,
            token: operation.token().as_bytes().into(),
            short_id: operation.token().short_id().to_owned(),
            staked_at: now,
            ttl: Duration::ZERO,
            call: None,
            follows: None,
            seats: vec![Seat::default(); nodes],
            voted: 0,
            held_at: None,
            knows_held: 0,
            majority_held_at: None,
            is_told: false,
            votes: Vec::new(),
            took_last: 0,
            rest: None,
            permits: None,
            released_at: None,
            made_by: None,
            longest_ttl: Duration::ZERO,
            extensions: Vec::new(),
        }
    }

    /// True if these are the permits that it did not win: all but one, and more than one.
    fn is_rest(&self, keys: &Resource) -> bool {
        let rest = self.permits.as_ref().map(|all| all.names().len() - 1);
        rest == Some(keys.names().len())
    }
}

impl History {
    /// Records that a client submits an operation to a node. Whether it is the first release of its token.
    pub fn submitting(&self, process: ProcessId, seat: usize, operation: &Arc<Operation>) -> bool {
        let want = operation.want();
        if matches!(want, Want::Inspect) {
            let line = (process, operation.keys().clone());
            let now = self.world.now();
            self.lock().looked.insert(line, now);
            return false;
        }
        let id = operation.token().short_id();
        self.note(1, [process as u64, seat as u64], || {
            format!("c{process} -> n{seat} {id} {want:?}")
        });
        let now = self.world.now();
        let (mut broken, mut is_first_release) = (None, false);
        let new = {
            let mut inner = self.lock();
            inner.submitted += 1;
            let nodes = self.rules.nodes;
            let known = inner.attempts.len();
            let new = || Attempt::new(process, operation, now, nodes);
            let number = inner.attempt_of(operation, new);
            let attempt = &mut inner.attempts[number];
            if let Want::Acquire { ttl } | Want::Extend { ttl } = want {
                attempt.longest_ttl = attempt.longest_ttl.max(ttl);
            }
            if let Want::Acquire { ttl } = want {
                attempt.ttl = ttl;
            }
            if operation.is_of_permits() {
                attempt.permits = Some(operation.keys().clone());
            }
            let is_rest = attempt.is_rest(operation.keys());
            match want {
                Want::Release { .. } if is_rest => {
                    is_first_release = attempt.rest.replace(operation.keys().clone()).is_none();
                }
                Want::Release { .. } if attempt.released_at.is_none() => {
                    attempt.released_at = Some(now);
                    is_first_release = true;
                }
                Want::Extend { ttl } => {
                    let mut known = attempt.extensions.iter();
                    if !known.any(|known| known.operation.is_of_round(operation)) {
                        attempt.extensions.push(Extension {
                            operation: Arc::clone(operation),
                            sent_at: now,
                            ttl,
                            seats: 0,
                        });
                        if attempt.released_at.is_some() {
                            let text = format!("c{process} extends {id}, which it has released");
                            broken = Some((Invariant::ExtendedReleased, text));
                        }
                    }
                }
                Want::Restore { .. } => {
                    let extensions = attempt.extensions.iter();
                    let votes = extensions.map(|extension| extension.seats.count_ones());
                    let needed = u32::try_from(nodes / 2 + 1).unwrap_or(u32::MAX);
                    if votes.max().unwrap_or(0) < needed {
                        let text = format!("c{process} puts {id} back without a proof");
                        broken = Some((Invariant::Unproven, text));
                    }
                }
                _ => {}
            }
            (number == known).then_some(number)
        };
        self.violated_all(broken);
        let is_attempt = want.is_acquisition();
        if let (Some(new), Some(call), true) = (new, self.world.call(), is_attempt) {
            self.attempted(call, new);
        }
        is_first_release
    }

    /// Returns the release after which the keys that it is about, or else all permits of its attempt, have to go.
    pub(crate) fn to_be_gone(&self, release: &Arc<Operation>) -> Arc<Operation> {
        let mut inner = self.lock();
        let attempt = inner.known(release.token().as_bytes());
        let attempt = attempt.filter(|attempt| !attempt.is_rest(release.keys()));
        match attempt.and_then(|attempt| attempt.permits.clone()) {
            None => Arc::clone(release),
            Some(keys) => match release.want() {
                Want::Release { ttl } => Operation::release(keys, release.token(), ttl),
                _ => Arc::clone(release),
            },
        }
    }

    /// Records that a node's answer reached the client.
    pub fn answered(&self, seat: usize, operation: &Arc<Operation>, answer: &Vote) {
        let want = operation.want();
        if matches!(want, Want::Inspect) {
            return;
        }
        self.note(2, [seat as u64, u64::from(is_granted(answer))], || {
            let id = operation.token().short_id();
            format!("  <- n{seat} {id} {want:?}: {}", brief(answer))
        });
        let now = self.world.now();
        let mut inner = self.lock();
        let Some(attempt) = inner.known(operation.token().as_bytes()) else {
            return;
        };
        if want.is_acquisition() && matches!(answer, Vote::Granted { .. } | Vote::Held(_)) {
            attempt.voted |= 1 << seat;
            if matches!(answer, Vote::Held(_)) {
                attempt.held_at.get_or_insert(now);
                attempt.knows_held |= 1 << seat;
                let needed = majority(attempt.seats.len());
                if usize::try_from(attempt.knows_held.count_ones()).is_ok_and(|held| held >= needed)
                {
                    attempt.majority_held_at.get_or_insert(now);
                    if let Some(call) = attempt.call {
                        inner.begin_wait(call, self.rules.nodes, now);
                    }
                }
                return;
            }
        }
        if !is_granted(answer) {
            return;
        }
        if let (Vote::Granted { epoch, .. }, false) = (answer, is_release(want)) {
            attempt.seats[seat].epoch = Some(*epoch);
        }
        match want {
            want if want.is_acquisition() => attempt.votes.push((now, operation.taken(answer))),
            Want::Extend { .. } => {
                for known in &mut attempt.extensions {
                    if known.operation.is_of_round(operation) {
                        known.seats |= 1 << seat;
                    }
                }
            }
            _ => {}
        }
    }

    /// Records that the client has handled a node's answer.
    pub fn heard(&self, seat: usize, operation: &Operation) {
        let now = self.world.now();
        let mut inner = self.lock();
        if operation.want().is_acquisition()
            && let Some(attempt) = inner.known(operation.token().as_bytes())
        {
            attempt.seats[seat].heard_at = Some(now);
        }
    }

    /// Records that a node served an operation.
    pub fn served(&self, served: &Served<'_>) {
        let (seat, operation, answer) = (served.seat, served.operation, served.answer);
        let want = operation.want();
        if matches!(want, Want::Inspect) {
            return;
        }
        self.note(3, [seat as u64, served.process as u64], || {
            let id = operation.token().short_id();
            let late = if served.is_late { " (late)" } else { "" };
            let (process, answer) = (served.process, brief(answer));
            format!("     n{seat} serves c{process} {id} {want:?}: {answer}{late}")
        });
        let mut broken = Self::check_served(served);
        self.check_shared(served, &mut broken);
        {
            let mut inner = self.lock();
            inner.next += 1;
            let place = inner.next;
            inner.coverage.late += u64::from(served.is_late);
            if operation.is_of_permits() {
                self.note_permit_asked(&mut inner, served);
            }
            let Some(attempt) = inner.known(operation.token().as_bytes()) else {
                return;
            };
            let process = attempt.process;
            let kept = &mut attempt.seats[seat];
            let token = operation.token().as_bytes();
            let is_ours = (served.after.iter().flatten())
                .filter(|value| **value == token)
                .count()
                == served.after.len()
                || served.is_reading(token);
            let (mut zombies, mut confirmed, mut refused, mut restored) = (0, 0, 0, 0);
            match want {
                // Nothing is there that has to be undone.
                want if want.is_acquisition()
                    && matches!(answer, Vote::Failed(error) if !error.was_sent()) => {}
                want if want.is_acquisition() => {
                    kept.asked += 1;
                    if kept.asked > 1 {
                        let id = operation.token().short_id();
                        let text = format!("n{seat} was asked twice by c{process} to grant {id}");
                        broken.push((Invariant::SetTwice, text));
                    }
                    if is_granted(answer) {
                        kept.granted = Some(place);
                        kept.stands = served.counts.iter().max().copied();
                        kept.is_excused |= served.is_late;
                        zombies = u64::from(kept.was_released);
                    }
                }
                Want::Confirm { counter } => {
                    kept.is_excused |= served.is_late && is_granted(answer);
                    if is_ours && served.counts.iter().all(|stands| *stands >= counter) {
                        kept.stands = Some(counter);
                    }
                    confirmed = u64::from(is_granted(answer));
                    refused = 1 - confirmed;
                }
                // It lives on for a ttl from here, and its release may be owed for less.
                Want::Extend { .. } if is_granted(answer) => kept.is_excused |= served.is_late,
                Want::Restore { .. } if is_granted(answer) => {
                    kept.is_excused |= served.is_late;
                    kept.was_overtaken |= kept.was_released;
                    kept.restored = Some(place);
                    restored = 1;
                }
                Want::Release { .. } => kept.was_released = true,
                _ => {}
            }
            inner.coverage.zombies += zombies;
            inner.coverage.confirmed += confirmed;
            inner.coverage.confirmation_refused += refused;
            inner.coverage.restored += restored;
        }
        self.violated_all(broken);
    }
}

/// Without the holder's name: it has the number of this process in it, and a trace must not.
fn brief(answer: &Vote) -> String {
    match answer {
        Vote::Granted { counter: None, .. } => "granted".to_owned(),
        Vote::Granted {
            counter: Some(counter),
            ..
        } => format!("granted, at {}", counter.count),
        Vote::Held(_) => "held".to_owned(),
        Vote::Absent => "absent".to_owned(),
        other => format!("{other:?}"),
    }
}

const fn is_release(want: Want) -> bool {
    matches!(want, Want::Release { .. })
}

pub(crate) const fn is_granted(answer: &Vote) -> bool {
    matches!(answer, Vote::Granted { .. })
}
