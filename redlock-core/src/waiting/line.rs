//! Lines: who has the turn, who waits, and what the nodes answered last.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use smallvec::SmallVec;
use tokio::sync::Notify;

use crate::env::Moment;
use crate::kinds::Kind;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::{NodeSet, identity};
use crate::quorum::lock_protocol::LinePlace;

use super::fair_share::FairShare;
use super::handed_claim::HandedClaim;
use super::refused_attempt::RefusedAttempt;

/// The largest number of holders that make a streak longer.
const MOST_HOLDERS: u16 = 8;

/// The time between two checks of a caller that gives up while votes are missing.
const NEXT_LOOK: Duration = Duration::from_millis(1);

/// Identifies a line. Callers with equal line keys compete for the same keys on the same nodes. Callers that want a
/// permit have the keys of all permits.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct LineKey {
    keys: Resource,
    /// A line is for one kind. The nodes decide which kind goes first.
    pub(super) kind: Kind,
    /// The identities of the nodes, sorted, so that their order makes no difference.
    nodes: SmallVec<[usize; 5]>,
}

impl LineKey {
    pub(crate) fn new(keys: &Resource, kind: Kind, nodes: &NodeSet) -> Self {
        let mut nodes: SmallVec<_> = nodes.iter().map(identity).collect();
        nodes.sort_unstable();
        Self {
            keys: keys.clone(),
            kind: kind.on_nodes(),
            nodes,
        }
    }
}

impl Hash for LineKey {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        // The names suffice. Few locks are wanted in several kinds or on several sets of nodes.
        self.keys.names().for_each(|name| hasher.write(name));
    }
}

/// The callers that want one lock.
pub(super) struct Line {
    /// Locked after the map of lines, and after the state of a lease.
    pub(super) state: Mutex<LineState>,
}

impl Line {
    pub(super) fn new(kind: Kind, handover_time: Duration) -> Self {
        // A streak on n permits may last longer, because each of n holders may let other processes in.
        let holders = match kind {
            Kind::Permits(count) => count.min(MOST_HOLDERS),
            _ => 1,
        };
        let share = FairShare::new(handover_time.saturating_mul(holders.into()));
        let state = LineState {
            share,
            ..LineState::default()
        };
        Self {
            state: Mutex::new(state),
        }
    }
}

/// A caller's place in the order of a line.
#[derive(Clone)]
pub(super) struct Ticket {
    pub(super) number: u64,
    /// Wakes the caller when its turn comes, or from a pause during its turn.
    pub(super) woken: Arc<Notify>,
}

#[derive(Default)]
pub(super) struct LineState {
    /// The caller with the turn. `None` if the line is empty.
    turn: Option<Ticket>,
    /// The deadline for the current step of the turn: an attempt, a pause, or a lease.
    pub(super) deadline: Moment,
    /// The token of the lease of the caller with the turn.
    pub(super) holder: Option<OwnerToken>,
    /// The waiters, in the order of their arrival.
    pub(super) waiters: BTreeMap<u64, Arc<Notify>>,
    /// The claim that the last holder handed to the caller with the turn.
    pub(super) handed_claim: Option<HandedClaim>,
    pub(super) share: FairShare,
    /// The number of permits that this process released and may take again within its streak.
    pub(super) released: usize,
    /// The moment until which the next caller waits for a release by this process.
    pub(super) quiet_until: Moment,
    /// The number of permits that callers got in this line and still hold.
    pub(super) permits_held: usize,
    /// The last attempt that the nodes refused since the last acquisition in this line.
    pub(super) refusal: Option<Arc<RefusedAttempt>>,
    /// The ticket of the last waiter that was in line when the nodes refused an attempt.
    last_refused: u64,
}

/// The reason why a caller in line gives up before its turn.
pub(crate) enum NoTurn {
    /// A caller of this process has the lock. Its lease is valid until this moment.
    Held(OwnerToken, Moment),
    /// The nodes refused an attempt of another caller.
    Refused(Arc<RefusedAttempt>),
    /// The nodes have yet to decide an attempt of the line.
    Nothing,
    /// The line is full, with this number of waiters.
    Full(usize),
}

impl LineState {
    /// Clears an empty line. Keeps its streak and the number of permits held, unless the streak is over `now`. Returns
    /// what has to be dropped after the line is unlocked.
    pub(super) fn clear(
        &mut self,
        now: Moment,
    ) -> (Option<HandedClaim>, Option<Arc<RefusedAttempt>>) {
        if self.share.is_over(now) {
            self.share.forget();
            self.permits_held = 0;
        }
        (self.released, self.last_refused) = (0, 0);
        self.quiet_until = Moment::default();
        (self.handed_claim.take(), self.refusal.take())
    }

    /// True if the caller with this ticket has the turn.
    pub(super) fn has(&self, number: u64) -> bool {
        self.turn.as_ref().is_some_and(|turn| turn.number == number)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turn.is_none()
    }

    /// True if the line is empty and its streak is over.
    pub(super) fn may_be_forgotten(&self, now: Moment) -> bool {
        self.is_empty() && self.share.is_over(now)
    }

    /// Returns the notifier that wakes the caller with the turn from a pause.
    pub(super) fn head(&self) -> Option<Arc<Notify>> {
        self.turn.as_ref().map(|turn| Arc::clone(&turn.woken))
    }

    pub(super) fn give(&mut self, turn: Option<Ticket>, deadline: Moment) {
        (self.turn, self.deadline, self.holder) = (turn, deadline, None);
    }

    /// Returns the moment of a waiter's next check.
    ///
    /// # Errors
    /// [`NoTurn`] says what is known of the lock, for a waiter that gives up at `gives_up`.
    pub(super) fn next_look(
        &self,
        gives_up: Option<Moment>,
        now: Moment,
    ) -> Result<Moment, NoTurn> {
        let Some(gives_up) = gives_up else {
            return Ok(self.deadline);
        };
        if let Some(token) = &self.holder {
            return Err(NoTurn::Held(token.clone(), self.deadline));
        }
        let is_over = gives_up <= now;
        match &self.refusal {
            Some(refusal) if is_over || refusal.is_settled(now) => {
                Err(NoTurn::Refused(Arc::clone(refusal)))
            }
            None if is_over => Err(NoTurn::Nothing),
            _ => Ok(gives_up.min(now.saturating_add(NEXT_LOOK))),
        }
    }

    /// True if fewer nodes than a majority answered the last attempt of the turn.
    pub(super) fn is_unanswered(&self, now: Moment) -> bool {
        let is_unanswered = |refusal: &Arc<RefusedAttempt>| refusal.is_unanswered(now);
        self.holder.is_none() && self.refusal.as_ref().is_some_and(is_unanswered)
    }

    /// Returns the place in line of the caller with the turn, for one attempt. `number` is the caller's ticket.
    pub(super) fn take_place(&mut self, number: u64) -> LinePlace {
        let released = self.released;
        self.released = released.saturating_sub(1);
        LinePlace {
            was_refused: number <= self.last_refused,
            is_followed_by_refused: self.has_refused_waiter(),
            is_in_streak: released > 0,
            permits_held: self.permits_held,
        }
    }

    /// True if a waiter was in line when the nodes refused an attempt.
    fn has_refused_waiter(&self) -> bool {
        let first = self.waiters.first_key_value();
        first.is_some_and(|(first, _)| *first <= self.last_refused)
    }

    /// True if a caller was in line when the nodes refused an attempt.
    pub(super) fn has_refused(&self) -> bool {
        let has_turn = |turn: &Ticket| turn.number <= self.last_refused;
        self.turn.as_ref().is_some_and(has_turn) || self.has_refused_waiter()
    }

    /// Records an attempt that the nodes refused. Returns the previous one, to be dropped after the line is unlocked.
    pub(super) fn record_refusal(
        &mut self,
        refusal: &Arc<RefusedAttempt>,
        now: Moment,
    ) -> Option<Arc<RefusedAttempt>> {
        let is_later = |known: &Arc<RefusedAttempt>| {
            known.window.started > refusal.window.started && known.is_settled(now)
        };
        // Ignore the refusal. All callers that could use it have left, or have the final answer to a later attempt.
        if self.is_empty() || self.refusal.as_ref().is_some_and(is_later) {
            return None;
        }
        let last = self.waiters.last_key_value();
        self.last_refused = last.map_or(self.last_refused, |(last, _)| *last);
        self.refusal.replace(Arc::clone(refusal))
    }
}
