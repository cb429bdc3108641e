//! The callers of one process that want the same lock stand in one line, first come, first served.
//!
//! How a lock goes from one caller to the next is in [`handed_claim`](super::handed_claim).
#![doc = include_str!("lines.md")]

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, Hash, Hasher, RandomState};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use smallvec::SmallVec;
use tokio::sync::Notify;

use crate::env::Moment;
use crate::kinds::Kind;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::{NodeSet, identity};

use super::fair_share::FairShare;
use super::handed_claim::HandedClaim;
use super::refused_attempt::RefusedAttempt;

/// How often a caller that gives up looks whether missing votes have come.
const NEXT_LOOK: Duration = Duration::from_millis(1);

/// What callers of the same line have in common: they exclude each other, and would be given the
/// same keys on the same nodes. Callers that want one of several locks have the keys of all of them. Clones share one
/// allocation, so that it costs little to compare them.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct LineKey(Arc<Wanted>);

#[derive(PartialEq, Eq)]
struct Wanted {
    /// The hash of the keys and the kind: a caller looks for its line several times.
    hash: u64,
    keys: Resource,
    /// Callers of different kinds stand in lines of their own. Which of them goes first is for the nodes to say.
    kind: Kind,
    /// The identities of the nodes, sorted, as the order of the nodes does not matter.
    nodes: SmallVec<[usize; 5]>,
}

impl LineKey {
    pub(crate) fn new(keys: &Resource, kind: Kind, nodes: &NodeSet) -> Self {
        static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);
        let mut nodes: SmallVec<_> = nodes.iter().map(identity).collect();
        nodes.sort_unstable();
        let (keys, kind) = (keys.clone(), kind.on_nodes());
        Self(Arc::new(Wanted {
            hash: HASHER.hash_one((&keys, kind)),
            keys,
            kind,
            nodes,
        }))
    }
}

impl Hash for LineKey {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        hasher.write_u64(self.0.hash);
    }
}

/// Takes the hash of a [`LineKey`] as it is.
#[derive(Default)]
pub(super) struct KnownHash(u64);

impl Hasher for KnownHash {
    fn write(&mut self, _: &[u8]) {}

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

#[derive(Default)]
pub(super) struct Line {
    /// The ticket of the caller with the turn, and what wakes that caller from a pause.
    turn: Option<(u64, Arc<Notify>)>,
    /// The deadline of the caller with the turn for the next step: an attempt, the end of a pause, or the end of its
    /// lease.
    pub(super) due: Moment,
    /// The token of the lease of the caller with the turn.
    pub(super) holder: Option<OwnerToken>,
    /// The waiters, in the order in which they came.
    pub(super) waiters: BTreeMap<u64, Arc<Notify>>,
    /// The claim that the last holder left on the nodes for the caller with the turn.
    pub(super) handed_claim: Option<HandedClaim>,
    pub(super) streak: FairShare,
    /// The last attempt that the nodes refused since the lock was last acquired here.
    pub(super) refusal: Option<Arc<RefusedAttempt>>,
    /// The last waiter that was in line when the nodes refused an attempt.
    refused: u64,
}

/// The answer to a caller that stood in line and does not get the turn.
pub(crate) enum NoTurn {
    /// Another caller of this process has the lock, and for how long it is valid.
    Held(OwnerToken, Moment),
    /// The nodes refused an attempt of another caller.
    Refused(Arc<RefusedAttempt>),
    /// No attempt of another caller was decided since the caller came.
    Nothing,
    /// As many callers stand in line already, and no more may.
    Full(usize),
}

impl Line {
    pub(super) fn has(&self, ticket: u64) -> bool {
        self.turn.as_ref().is_some_and(|(turn, _)| *turn == ticket)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.turn.is_none()
    }

    /// True if the line is empty, and a caller that comes now need not know of the last holder.
    pub(super) fn is_forgotten(&self, now: Moment) -> bool {
        self.is_empty() && self.streak.is_forgotten(now)
    }

    /// True if no caller has the turn, or if the turn was not used in time.
    pub(super) fn is_due(&self, now: Moment) -> bool {
        self.is_empty() || self.due <= now
    }

    /// What wakes the caller with the turn from a pause.
    pub(super) fn head(&mut self) -> Option<Arc<Notify>> {
        self.turn.as_ref().map(|(_, woken)| Arc::clone(woken))
    }

    /// Gives the turn to the first waiter, which is to be woken.
    pub(super) fn pass(&mut self, due: Moment) -> Option<Arc<Notify>> {
        let first = self.waiters.pop_first();
        self.give(first, due);
        self.head()
    }

    pub(super) fn give(&mut self, turn: Option<(u64, Arc<Notify>)>, due: Moment) {
        (self.turn, self.due, self.holder) = (turn, due, None);
    }

    /// The moment of the next look of a waiter. A waiter that gives up at `gives_up` gets the answer of the nodes to an
    /// attempt of another caller.
    pub(super) fn last_known(
        &self,
        gives_up: Option<Moment>,
        now: Moment,
    ) -> Result<Moment, NoTurn> {
        let Some(gives_up) = gives_up else {
            return Ok(self.due);
        };
        if let Some(token) = &self.holder {
            return Err(NoTurn::Held(token.clone(), self.due));
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

    /// True if no majority of the nodes answered the last attempt of the caller with the turn.
    pub(super) fn is_unanswered(&self, now: Moment) -> bool {
        let is_unanswered = |refusal: &Arc<RefusedAttempt>| refusal.is_unanswered(now);
        self.holder.is_none() && self.refusal.as_ref().is_some_and(is_unanswered)
    }

    /// True if the caller with `ticket` was in line when the nodes last refused an attempt, and if a waiter was.
    pub(super) fn were_refused(&self, ticket: u64) -> (bool, bool) {
        let first = self.waiters.first_key_value();
        let is_followed = first.is_some_and(|(first, _)| *first <= self.refused);
        (ticket <= self.refused, is_followed)
    }

    /// The nodes refused an attempt. Returns the attempt that they refused before.
    pub(super) fn refused(&mut self, refusal: &Arc<RefusedAttempt>) -> Option<Arc<RefusedAttempt>> {
        let last = self.waiters.last_key_value();
        self.refused = last.map_or(self.refused, |(last, _)| *last);
        self.refusal.replace(Arc::clone(refusal))
    }
}
