//! What happened, on the common clock, and what must never happen.
//!
//! The checker knows nothing of core's decisions. It sees what every node served, what every
//! client was told, and when; the rules are in `check.rs`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redlock_core::{Answer, LeaseHandle, Operation, Resource, Want};

use crate::coverage::Coverage;
use crate::profile::Rules;
use crate::world::{ProcessId, World};

/// What must hold in every run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Invariant {
    /// Two leases of one name were valid at once.
    Exclusion,
    /// Two leases of one name have one fencing token.
    TokenUnique,
    /// A later lease has a lower fencing token.
    TokenOrder,
    /// The store took a write of an earlier holder behind one of a later holder.
    StoreOrder,
    /// A release removed a key that was not its own.
    ForeignRelease,
    /// An operation changed a key, or lowered a counter, that it must not touch.
    ForeignChange,
    /// A lease claims to be valid for longer than its ttl less the drift, from its beginning.
    Validity,
    /// A lease rests on votes that came after its end.
    LateVotes,
    /// A node was asked twice to grant one token.
    SetTwice,
    /// A key was put back without a majority that had just vouched for the lock.
    Unproven,
    /// An extension began behind the release of the same lock.
    ExtendedReleased,
    /// A release that was confirmed left a majority with the key.
    FalselyConfirmed,
    /// A key stayed behind although its lock was released.
    Leftover,
    /// A lease that was over is valid again.
    Revived,
    /// A lease goes on although its client was told that too many nodes may have forgotten it.
    Unvouched,
    /// A call took longer than it may, or never ended.
    Settles,
    /// With a majority up and all faults over, an acquisition did not succeed.
    Liveness,
}

/// One rule that was broken.
#[derive(Clone, Debug)]
pub struct Violation {
    /// Which.
    pub invariant: Invariant,
    /// When, on the common clock.
    pub at: Duration,
    /// What exactly.
    pub text: String,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} at {:?}: {}", self.invariant, self.at, self.text)
    }
}

/// See the [module](self).
pub struct History {
    pub(crate) world: Arc<World>,
    pub(crate) rules: Rules,
    is_traced: bool,
    pub(crate) inner: Mutex<Inner>,
}

#[derive(Default)]
pub(crate) struct Inner {
    pub(crate) attempts: Vec<Attempt>,
    by_token: BTreeMap<Box<[u8]>, usize>,
    pub(crate) leases: Vec<LeaseRecord>,
    pub(crate) coverage: Coverage,
    pub(crate) violations: Vec<Violation>,
    /// Which lease wrote last to each resource's store, and all that ever did.
    pub(crate) writers: BTreeMap<Vec<u8>, Vec<usize>>,
    lines: Vec<String>,
    digest: u64,
    next: u64,
}

/// One owner token: an attempt, and the lease that came of it.
pub(crate) struct Attempt {
    pub(crate) process: ProcessId,
    pub(crate) token: Box<[u8]>,
    pub(crate) short_id: String,
    pub(crate) staked_at: Duration,
    pub(crate) seats: Vec<Seat>,
    /// When grants reached the client.
    pub(crate) votes: Vec<Duration>,
    pub(crate) released_at: Option<Duration>,
    /// Extensions, and the seats that granted each, as bits.
    pub(crate) extensions: Vec<(Arc<Operation>, u64)>,
}

/// What one node did for one attempt.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seat {
    pub(crate) asked: u32,
    /// The place of the grant among all that happened.
    pub(crate) granted: Option<u64>,
    /// Where its counter stood while it had our key.
    pub(crate) stands: Option<u64>,
    /// A key may stay here: what put it there came over a connection that was given up.
    pub(crate) is_excused: bool,
    was_released: bool,
    /// The node's epoch in which it last said yes.
    pub(crate) epoch: Option<u32>,
}

pub(crate) struct LeaseRecord {
    pub(crate) process: ProcessId,
    pub(crate) attempt: usize,
    pub(crate) handle: LeaseHandle,
    pub(crate) resource: Resource,
    pub(crate) token: Option<u64>,
    pub(crate) returned_at: Duration,
    pub(crate) was_over: bool,
    pub(crate) is_abandoned: bool,
}

/// What a node was asked and did.
pub struct Served<'a> {
    /// The node.
    pub seat: usize,
    /// Who asked.
    pub process: ProcessId,
    /// Its connection had been given up.
    pub is_late: bool,
    /// What was asked.
    pub operation: &'a Arc<Operation>,
    /// What it answered.
    pub answer: &'a Answer,
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
}

/// What an operation is that a client submits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Submitted {
    /// The first release of its token.
    FirstRelease,
    /// Anything else.
    Other,
}

impl History {
    /// Nothing has happened yet. `is_traced` keeps a line for everything that does.
    pub fn new(world: &Arc<World>, rules: Rules, is_traced: bool) -> Arc<Self> {
        Arc::new(Self {
            world: Arc::clone(world),
            rules,
            is_traced,
            inner: Mutex::default(),
        })
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes down what happened.
    pub fn note(&self, kind: u64, numbers: [u64; 2], text: impl FnOnce() -> String) {
        let now = self.world.now();
        let line = self.is_traced.then(|| {
            let micros = now.as_micros();
            format!(
                "{:>6}.{:06} {}",
                micros / 1_000_000,
                micros % 1_000_000,
                text()
            )
        });
        let mut inner = self.lock();
        let nanos = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        for number in [nanos, kind, numbers[0], numbers[1]] {
            inner.digest = (inner.digest ^ number)
                .wrapping_mul(0x0000_0100_0000_01b3)
                .rotate_left(23);
        }
        inner.lines.extend(line);
    }

    /// A number that two runs share only if the same things happened at the same times.
    pub fn digest(&self) -> u64 {
        self.lock().digest
    }

    /// What was traced.
    pub fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().lines)
    }

    /// Counts something.
    pub fn count(&self, count: impl FnOnce(&mut Coverage)) {
        count(&mut self.lock().coverage);
    }

    /// What the run went through.
    pub fn coverage(&self) -> Coverage {
        self.lock().coverage
    }

    /// The rules that were broken, the first time for each.
    pub fn violations(&self) -> Vec<Violation> {
        self.lock().violations.clone()
    }

    /// A rule was broken. Only the first time is kept: the rest may follow from it.
    pub fn violated(&self, invariant: Invariant, text: String) {
        self.note(99, [invariant as u64, 0], || {
            format!("VIOLATED {invariant:?}: {text}")
        });
        let at = self.world.now();
        let mut inner = self.lock();
        if inner
            .violations
            .iter()
            .all(|known| known.invariant != invariant)
        {
            inner.violations.push(Violation {
                invariant,
                at,
                text,
            });
        }
    }

    /// Whether keys that stay behind are looked for.
    pub fn heeds_leftovers(&self) -> bool {
        self.rules.leftovers
    }

    /// A client hands an operation to a node.
    pub fn submitting(
        &self,
        process: ProcessId,
        seat: usize,
        operation: &Arc<Operation>,
    ) -> Submitted {
        let want = operation.want();
        if matches!(want, Want::Inspect) {
            return Submitted::Other;
        }
        let id = operation.token().short_id();
        self.note(1, [process as u64, seat as u64], || {
            format!("c{process} -> n{seat} {id} {want:?}")
        });
        let now = self.world.now();
        let mut broken = None;
        let mut submitted = Submitted::Other;
        {
            let mut inner = self.lock();
            let nodes = self.rules.nodes;
            let number = inner.attempt_of(operation, || Attempt {
                process,
                token: operation.token().as_bytes().into(),
                short_id: id.to_owned(),
                staked_at: now,
                seats: vec![Seat::default(); nodes],
                votes: Vec::new(),
                released_at: None,
                extensions: Vec::new(),
            });
            let attempt = &mut inner.attempts[number];
            match want {
                Want::Release { .. } if attempt.released_at.is_none() => {
                    attempt.released_at = Some(now);
                    submitted = Submitted::FirstRelease;
                }
                Want::Extend { .. } => {
                    let known = &attempt.extensions;
                    if !known.iter().any(|(known, _)| Arc::ptr_eq(known, operation)) {
                        attempt.extensions.push((Arc::clone(operation), 0));
                        if attempt.released_at.is_some() {
                            let text = format!("c{process} extends {id}, which it has released");
                            broken = Some((Invariant::ExtendedReleased, text));
                        }
                    }
                }
                Want::Restore { .. } => {
                    let votes = attempt
                        .extensions
                        .iter()
                        .map(|(_, seats)| seats.count_ones());
                    let needed = u32::try_from(nodes / 2 + 1).unwrap_or(u32::MAX);
                    if votes.max().unwrap_or(0) < needed {
                        let text = format!("c{process} puts {id} back without a proof");
                        broken = Some((Invariant::Unproven, text));
                    }
                }
                _ => {}
            }
        }
        if let Some((invariant, text)) = broken {
            self.violated(invariant, text);
        }
        submitted
    }

    /// A node's answer reached the client that asked.
    pub fn answered(&self, seat: usize, operation: &Arc<Operation>, answer: &Answer) {
        let want = operation.want();
        if matches!(want, Want::Inspect) {
            return;
        }
        self.note(2, [seat as u64, u64::from(is_granted(answer))], || {
            let id = operation.token().short_id();
            format!("  <- n{seat} {id} {want:?}: {}", brief(answer))
        });
        if !is_granted(answer) {
            return;
        }
        let now = self.world.now();
        let mut inner = self.lock();
        let Some(attempt) = inner.known(operation.token().as_bytes()) else {
            return;
        };
        if let (Answer::Granted { epoch, .. }, false) = (answer, is_release(want)) {
            attempt.seats[seat].epoch = Some(*epoch);
        }
        match want {
            Want::Acquire { .. } => attempt.votes.push(now),
            Want::Extend { .. } => {
                for (known, seats) in &mut attempt.extensions {
                    if Arc::ptr_eq(known, operation) {
                        *seats |= 1 << seat;
                    }
                }
            }
            _ => {}
        }
    }

    /// A node served an operation.
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
        {
            let mut inner = self.lock();
            inner.next += 1;
            let place = inner.next;
            inner.coverage.late += u64::from(served.is_late);
            let Some(attempt) = inner.known(operation.token().as_bytes()) else {
                return;
            };
            let process = attempt.process;
            let kept = &mut attempt.seats[seat];
            let is_ours = (served.after.iter().flatten())
                .filter(|value| **value == operation.token().as_bytes())
                .count()
                == served.after.len();
            let (mut zombies, mut confirmed, mut refused, mut restored) = (0, 0, 0, 0);
            match want {
                Want::Acquire { .. } => {
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
                Want::Confirm { counter, .. } => {
                    if is_ours && served.counts.iter().all(|stands| *stands >= counter) {
                        kept.stands = Some(counter);
                    }
                    confirmed = u64::from(is_granted(answer));
                    refused = 1 - confirmed;
                }
                Want::Restore { .. } if is_granted(answer) => {
                    kept.is_excused |= served.is_late;
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
        for (invariant, text) in broken {
            self.violated(invariant, text);
        }
    }

    /// A connection broke.
    pub fn broke(&self, process: ProcessId, seat: usize) {
        self.note(4, [process as u64, seat as u64], || {
            format!("c{process} lost n{seat}")
        });
        self.count(|coverage| coverage.broken += 1);
    }

    /// A release is sent again on a new connection.
    pub fn repeated(&self, process: ProcessId, seat: usize, operation: &Operation) {
        self.note(5, [process as u64, seat as u64], || {
            let id = operation.token().short_id();
            format!("c{process} -> n{seat} {id} release, owed")
        });
        self.count(|coverage| coverage.owed += 1);
    }

    /// A fault of the world's.
    pub fn fault(&self, seat: usize, text: impl FnOnce() -> String) {
        self.note(6, [seat as u64, 0], text);
    }

    /// The owner token of a lease.
    pub fn token_of(&self, lease: usize) -> Option<Box<[u8]>> {
        let inner = self.lock();
        let attempt = inner.leases.get(lease)?.attempt;
        Some(inner.attempts[attempt].token.clone())
    }

    /// Forgets all leases, so that nothing keeps anything alive in a circle.
    pub fn forget(&self) {
        let leases = std::mem::take(&mut self.lock().leases);
        drop(leases);
    }

    /// A node came back with older data: keys that were released may be there again.
    pub fn excuse_all(&self, seat: usize) {
        for attempt in &mut self.lock().attempts {
            attempt.seats[seat].is_excused = true;
        }
    }

    /// Whether keys of `token` may stay at `seat`.
    pub fn is_excused(&self, seat: usize, token: &[u8]) -> bool {
        let mut inner = self.lock();
        inner
            .known(token)
            .is_none_or(|attempt| attempt.seats[seat].is_excused)
    }
}

/// Without the holder's name: it has the number of this process in it, and a trace must not.
fn brief(answer: &Answer) -> String {
    match answer {
        Answer::Granted { counter: None, .. } => "granted".to_owned(),
        Answer::Granted {
            counter: Some(counter),
            ..
        } => format!("granted, at {counter}"),
        Answer::Held(_) => "held".to_owned(),
        Answer::Absent => "absent".to_owned(),
        other => format!("{other:?}"),
    }
}

const fn is_release(want: Want) -> bool {
    matches!(want, Want::Release { .. })
}

pub(crate) const fn is_granted(answer: &Answer) -> bool {
    matches!(answer, Answer::Granted { .. })
}

impl Inner {
    fn attempt_of(&mut self, operation: &Operation, new: impl FnOnce() -> Attempt) -> usize {
        let token = operation.token().as_bytes();
        if let Some(number) = self.by_token.get(token) {
            return *number;
        }
        let number = self.attempts.len();
        self.attempts.push(new());
        self.by_token.insert(token.into(), number);
        number
    }

    fn known(&mut self, token: &[u8]) -> Option<&mut Attempt> {
        let number = *self.by_token.get(token)?;
        self.attempts.get_mut(number)
    }

    /// The newest attempt of `process` with this short id.
    pub(crate) fn attempt_named(&self, process: ProcessId, short_id: &str) -> Option<usize> {
        self.attempts
            .iter()
            .rposition(|attempt| attempt.process == process && attempt.short_id == short_id)
    }
}
