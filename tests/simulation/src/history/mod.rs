//! The history of a run on the common clock, and the rules for it.
//!
//! The checker knows nothing of core's decisions. It sees what every node served, what every
//! client was told, and when; the rules are in `check.rs`.

mod calls;
mod invariant;
mod record;
mod reports;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::operation::Operation;
use parking_lot::{Mutex, MutexGuard};
use redlock_core::error::LeaseEnd;
use redlock_core::{LeaseHandle, Resource};

pub(crate) use calls::{Call, Line, LineId, on_clock};
pub use invariant::{Invariant, Violation};
pub(crate) use record::is_granted;
pub use record::{Served, SharedState};
pub(crate) use reports::{Report, Told, Watching};

use crate::check::{Chain, Promised};
use crate::coverage::Coverage;
use crate::profile::Rules;
use crate::world::{CallId, ProcessId, World};

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
    pub(crate) calls: Vec<Call>,
    pub(crate) queues: BTreeMap<LineId, Line>,
    /// When a process last asked whether the keys are there, which is what a break is made of.
    pub(crate) looked: BTreeMap<LineId, Duration>,
    /// By seat.
    pub(crate) reports: BTreeMap<LineId, Vec<Option<Report>>>,
    pub(crate) coverage: Coverage,
    pub(crate) violations: Vec<Violation>,
    lines: Vec<String>,
    digest: u64,
    next: u64,
    /// The number of all submitted operations.
    submitted: u64,
}

/// An attempt with its owner token, and the lease that it won.
pub(crate) struct Attempt {
    pub(crate) process: ProcessId,
    pub(crate) token: Box<[u8]>,
    pub(crate) short_id: String,
    pub(crate) staked_at: Duration,
    pub(crate) ttl: Duration,
    /// The caller that made it.
    pub(crate) call: Option<CallId>,
    /// The lease that its process left for it: this attempt came behind the release, without a break.
    pub(crate) follows: Option<usize>,
    pub(crate) seats: Vec<Seat>,
    /// The seats that granted or refused, as far as the client knows, as bits.
    pub(crate) voted: u64,
    /// When it was first refused.
    pub(crate) held_at: Option<Duration>,
    /// Those that refused because another holder has a key.
    knows_held: u64,
    /// When they were a majority.
    pub(crate) majority_held_at: Option<Duration>,
    /// True if the attempt was refused, and its line was informed.
    pub(crate) is_told: bool,
    /// The times at which grants reached the client, and the permit that was granted.
    pub(crate) votes: Vec<(Duration, Option<u16>)>,
    /// The seats at which no permit was left once it was granted one, as bits.
    pub(crate) took_last: u64,
    /// The permits that it did not win, once their release was sent.
    rest: Option<Resource>,
    /// The keys of all permits of which it may get one.
    pub(crate) permits: Option<Resource>,
    /// When its first release was sent.
    pub(crate) released_at: Option<Duration>,
    /// The time by which the attempt was a lease.
    /// The lease also depends on the grants that its client heard of before this time.
    pub(crate) made_by: Option<Duration>,
    /// The longest that a node may keep its keys without hearing of it.
    pub(crate) longest_ttl: Duration,
    pub(crate) extensions: Vec<Extension>,
}

/// One extension of a lock.
pub(crate) struct Extension {
    operation: Arc<Operation>,
    pub(crate) sent_at: Duration,
    pub(crate) ttl: Duration,
    /// The seats that granted it, as bits.
    pub(crate) seats: u64,
}

/// The effects of one attempt at one node.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seat {
    pub(crate) asked: u32,
    /// The place of the grant among all that happened.
    pub(crate) granted: Option<u64>,
    /// The node's counter while it had the attempt's key.
    pub(crate) stands: Option<u64>,
    /// A key may stay here: what put it there came over a connection that was given up.
    pub(crate) is_excused: bool,
    was_released: bool,
    /// A key was put back here behind a release, by a thread that was overtaken; it cleans up
    /// behind itself, with another one.
    was_overtaken: bool,
    /// When the client was done with the answer to the acquisition.
    pub(crate) heard_at: Option<Duration>,
    /// The place at which a key was last put back here.
    pub(crate) restored: Option<u64>,
    /// The node's epoch in which it last said yes.
    pub(crate) epoch: Option<u32>,
}

pub(crate) struct LeaseRecord {
    pub(crate) process: ProcessId,
    pub(crate) call: CallId,
    pub(crate) attempt: usize,
    pub(crate) handle: LeaseHandle,
    pub(crate) resource: Resource,
    pub(crate) permit: Option<u16>,
    pub(crate) token: Option<u64>,
    pub(crate) returned_at: Duration,
    pub(crate) was_over: bool,
    pub(crate) chain: Chain,
    pub(crate) promised: Promised,
    /// The end of the lease, if it was over when its holder left, and the time when the holder left.
    pub(crate) ended: Option<LeaseEnd>,
    pub(crate) left_at: Option<Duration>,
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
        self.inner.lock()
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

    /// Returns a number that two runs share only if the same things happened at the same times.
    pub fn digest(&self) -> u64 {
        self.lock().digest
    }

    /// Returns what was traced.
    pub fn lines(&self) -> Vec<String> {
        std::mem::take(&mut self.lock().lines)
    }

    /// Counts something.
    pub fn count(&self, count: impl FnOnce(&mut Coverage)) {
        count(&mut self.lock().coverage);
    }

    /// Returns what the run went through.
    pub fn coverage(&self) -> Coverage {
        self.lock().coverage
    }

    /// Returns the rules that were broken, the first time for each.
    pub fn violations(&self) -> Vec<Violation> {
        self.lock().violations.clone()
    }

    /// Records that a rule was broken. Only the first time is kept: the rest may follow from it.
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

    /// True if keys that stay behind are looked for.
    pub fn heeds_leftovers(&self) -> bool {
        self.rules.leftovers
    }

    /// A connection broke.
    pub fn broke(&self, process: ProcessId, seat: usize) {
        self.note(4, [process as u64, seat as u64], || {
            format!("c{process} lost n{seat}")
        });
        self.count(|coverage| coverage.broken += 1);
    }

    /// Records that a release is sent again on a new connection.
    pub fn repeated(&self, process: ProcessId, seat: usize, operation: &Operation) {
        self.note(5, [process as u64, seat as u64], || {
            let id = operation.token().short_id();
            format!("c{process} -> n{seat} {id} release, owed")
        });
        self.count(|coverage| coverage.owed += 1);
    }

    /// Records a fault of the world.
    pub fn fault(&self, seat: usize, text: impl FnOnce() -> String) {
        self.note(6, [seat as u64, 0], text);
    }

    pub(crate) fn handle(&self, lease: usize) -> Option<LeaseHandle> {
        let inner = self.lock();
        Some(inner.leases.get(lease)?.handle.clone())
    }

    /// Returns the owner token of a lease.
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

    /// Records that a node returned with older data, so released keys may exist again.
    pub fn excuse_all(&self, seat: usize) {
        for attempt in &mut self.lock().attempts {
            attempt.seats[seat].is_excused = true;
        }
    }

    /// True if keys of `token` may be at `seat` for a moment more, although it was released.
    pub fn may_linger(&self, seat: usize, token: &[u8]) -> bool {
        let mut inner = self.lock();
        inner.known(token).is_none_or(|attempt| {
            attempt.seats[seat].is_excused || attempt.seats[seat].was_overtaken
        })
    }

    /// True if keys of `token` may stay at `seat`.
    pub fn is_excused(&self, seat: usize, token: &[u8]) -> bool {
        let mut inner = self.lock();
        inner
            .known(token)
            .is_none_or(|attempt| attempt.seats[seat].is_excused)
    }
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

    pub(crate) fn number_of(&self, token: &[u8]) -> Option<usize> {
        self.by_token.get(token).copied()
    }

    fn known(&mut self, token: &[u8]) -> Option<&mut Attempt> {
        let number = self.number_of(token)?;
        self.attempts.get_mut(number)
    }

    /// Returns the newest attempt of `process` with this short id.
    pub(crate) fn attempt_named(&self, process: ProcessId, short_id: &str) -> Option<usize> {
        self.attempts
            .iter()
            .rposition(|attempt| attempt.process == process && attempt.short_id == short_id)
    }
}
