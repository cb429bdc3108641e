//! A lease as its holder has it, and the view of it that may be kept.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use crate::env::{Moment, SharedMoment};
use crate::error::LeaseEnd;
use crate::kinds::Kind;
use crate::model::note::Note;
use crate::model::resource::Resource;
use crate::model::token;
use crate::node::NodeSet;
use crate::quorum::claim::Claim;
use crate::quorum::round::bit;
use crate::quorum::terms::Terms;
use crate::request::Request;
use crate::waiting::Turn;
use crate::waiting::budget::RetryBudget;

use super::events::third_left;
use super::remember::Run;
use super::renewals::RenewalId;
use super::watchers::Watchers;
use super::{FencingToken, LeaseShared, LeaseState, Leases, ObserveExtensions};

/// A held lock. Dropping it sends the release to every node. [`release`](Self::release) also waits
/// until the next holder could win.
///
/// It dereferences to its [`LeaseHandle`], for code below the holder.
pub struct Lease {
    pub(crate) handle: LeaseHandle,
    /// True after `release`: this holder has left.
    pub(crate) has_left: bool,
    /// The renewal that this holder asked for. It ends when the holder leaves.
    pub(crate) renewed: Option<RenewalId>,
    /// This holder's run, if its request has a period.
    pub(crate) run: Option<Run>,
}

/// An observer of a lease. It can be cloned and kept, and it holds nothing: after the end of the lease
/// it has no effect.
#[derive(Clone)]
pub struct LeaseHandle {
    pub(crate) shared: Arc<LeaseShared>,
    /// The generation of the lease to which this handle belongs. A release or a hand-over begins the
    /// next generation, and handles of older generations have no effect.
    pub(crate) generation: u32,
}

impl Lease {
    pub(crate) fn new(
        leases: &Arc<Leases>,
        claim: Arc<Claim>,
        request: &Request,
        budget: &RetryBudget<'_>,
        terms: Terms,
        turn: Option<Turn>,
    ) -> Self {
        let shared = LeaseShared {
            leases: Arc::clone(leases),
            claim,
            resource: request.resource.clone(),
            kind: request.kind,
            ttl: request.ttl,
            clock_drift_factor: request.clock_drift_factor,
            acquired_at: terms.acquired_at,
            waited: terms.granted_at.saturating_since(budget.began),
            attempts: budget.attempts,
            fencing_token: terms.fencing_token,
            joined: AtomicU32::new(1),
            valid_until: SharedMoment::new(terms.deadline),
            state: Mutex::new(LeaseState {
                generation: 0,
                deadline: terms.deadline,
                expiring: terms.expiring,
                is_shutdown_announced: false,
                over: None,
                is_revoked: false,
                unproved: None,
                renewals: 0,
                max_hold: None,
                extensions: 0,
                turn,
                observer: None,
                watchers: Watchers::default(),
            }),
        };
        let handle = LeaseHandle {
            shared: Arc::new(shared),
            generation: 0,
        };
        let mut lease = Self::of(handle);
        lease.run = Run::of(request, terms.acquired_at);
        lease.renew(request, terms.acquired_at);
        lease
    }

    /// One more holder, which is counted already.
    pub(crate) fn of(handle: LeaseHandle) -> Self {
        Self {
            handle,
            has_left: false,
            renewed: None,
            run: None,
        }
    }

    /// A handle to keep or pass on.
    pub fn handle(&self) -> LeaseHandle {
        self.handle.clone()
    }
}

impl Deref for Lease {
    type Target = LeaseHandle;

    fn deref(&self) -> &LeaseHandle {
        &self.handle
    }
}

impl LeaseHandle {
    /// The locked resource, without the key prefix.
    pub fn resource(&self) -> &Resource {
        &self.shared.resource
    }

    /// Whom the lock excludes, and how many holders it has at a time.
    pub fn kind(&self) -> Kind {
        self.shared.kind
    }

    /// The time for which the lock is certainly ours; zero after the end of the lease.
    pub fn validity(&self) -> Duration {
        let now = self.shared.now();
        let state = self.shared.state.lock();
        match self.over_in(&state) {
            Some(_) => Duration::ZERO,
            None => state.deadline.saturating_since(now),
        }
    }

    /// The time since the winning attempt began.
    pub fn held_for(&self) -> Duration {
        self.shared.now().saturating_since(self.shared.acquired_at)
    }

    /// The time at which the winning attempt began, by this host's present wall clock.
    pub fn held_since(&self) -> SystemTime {
        let since = self.shared.clock().wall().saturating_sub(self.held_for());
        UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
    }

    /// The ttl of the request. An extension may have used another one.
    pub fn ttl(&self) -> Duration {
        self.shared.ttl
    }

    /// The number of extensions, renewals included.
    pub fn extensions(&self) -> u32 {
        self.shared.state.lock().extensions
    }

    /// The number of holders that share the lock: the first one, and those that [joined](Self::join).
    /// Zero once all have left.
    pub fn holders(&self) -> usize {
        self.shared.joined.load(Ordering::Acquire) as usize
    }

    /// The number of callers of this client that stand in line for the lock.
    pub fn waiting(&self) -> usize {
        self.shared.leases.lines.waiting_at(&self.shared.line_key())
    }

    /// The number of the lease's permit, which no other live holder has: 0 up to the number of permits,
    /// without it. `None` for a plain lock.
    pub fn permit(&self) -> Option<u16> {
        self.shared.claim.kind.number()
    }

    /// The lock's fencing token, if one was asked for. Send it to the store with every write. An
    /// extension does not change it.
    pub fn fencing_token(&self) -> Option<FencingToken> {
        self.shared.fencing_token
    }

    /// A few digits of the owner token, for logs.
    pub fn token_id(&self) -> &str {
        self.shared.claim.token.short_id()
    }

    /// The note that the keys have.
    pub fn note(&self) -> Option<Note> {
        token::note_of(self.shared.claim.token.as_bytes())
    }

    /// The time that the acquiring caller waited, in line and for the nodes.
    pub fn waited(&self) -> Duration {
        self.shared.waited
    }

    /// The number of that caller's attempts; zero if the lock was handed over unchanged.
    pub fn attempts(&self) -> u32 {
        self.shared.attempts
    }

    /// The number of nodes that have granted the lock, stragglers included. Nodes that were given the
    /// key back later do not count.
    pub fn votes(&self) -> usize {
        self.shared.claim.votes()
    }

    /// Reports every further extension to `observer`, renewals included. A lock has one observer: a
    /// second call does nothing.
    pub fn observe_extensions(&self, observer: Arc<dyn ObserveExtensions>) {
        let _second = {
            let mut state = self.shared.state.lock();
            match &state.observer {
                None => state.observer.replace(observer),
                Some(_) => Some(observer),
            }
        };
    }

    /// The reason why the lease is over, or `None` while it is valid.
    pub fn over(&self) -> Option<LeaseEnd> {
        // The clock is read before the mutex is taken: other holders of the lease do not wait for that read.
        let now = self.shared.now();
        if self.is_valid_at(now) {
            return None;
        }
        self.over_at(&self.shared.state.lock(), now)
    }

    /// True if the lease is valid, and was not over by `now`. False says nothing: see the state. A lease of a
    /// later generation does not exist, so a valid lease is the handle's.
    pub(super) fn is_valid_at(&self, now: Moment) -> bool {
        now < self.shared.valid_until.get()
    }

    /// The nodes of the lock. A majority of them granted it.
    pub fn nodes(&self) -> &NodeSet {
        &self.shared.claim.nodes
    }

    /// The names of the nodes on which the lock does not rest: they did not grant it, or may have
    /// forgotten it since, and the last extension could not count them. If there are none, the lock
    /// outlives the restart of any one of its nodes. The list is empty while answers may still arrive,
    /// and after the end of the lease.
    pub fn not_resting_on(&self) -> impl Iterator<Item = &str> {
        let shared = &self.shared;
        let timeout = shared.context().node_timeout.min(shared.ttl / 4);
        let is_settled = self.over().is_none() && self.held_for() >= timeout;
        let vouching = if is_settled {
            shared.claim.vouching()
        } else {
            u64::MAX
        };
        let nodes = shared.claim.nodes.iter().enumerate();
        nodes
            .filter(move |(seat, _)| vouching & bit(*seat) == 0)
            .map(|(_, node)| node.name())
    }

    /// Records why the lease is over, unless that is recorded already, and tells all who wait for its
    /// end. The next in line may ask the nodes. A lease past its deadline has expired, whichever other
    /// end is noticed later, but it may still be revoked.
    pub(crate) fn lose(&self, over: LeaseEnd) {
        let (_turn, watchers) = {
            let mut state = self.shared.state.lock();
            if self.over_now(&state).is_some() {
                return;
            }
            state.over = Some(over);
            self.shared.renew_valid_until(&state);
            (state.turn.take(), state.watchers.take())
        };
        watchers.wake();
    }

    /// Moves the deadline forward, never back. The validity counts from `started`, when the extension
    /// was sent.
    ///
    /// # Errors
    /// The reason, if the lease is over.
    pub(crate) fn prolong(&self, started: Moment, deadline: Moment) -> Result<(), LeaseEnd> {
        let mut state = self.shared.state.lock();
        if let Some(over) = self.over_in(&state) {
            return Err(over);
        }
        if self.shared.now() >= state.deadline {
            return Err(self.shared.end_of_validity(&state));
        }
        state.unproved = None;
        state.extensions = state.extensions.saturating_add(1);
        if deadline > state.deadline {
            state.deadline = deadline;
            state.expiring = state.expiring.max(third_left(started, deadline));
            self.shared.renew_valid_until(&state);
            if let Some(turn) = &state.turn {
                turn.prolong(deadline);
            }
        }
        // Both moments only move later. A task that waits has a timer for the earlier moment, and looks again then.
        Ok(())
    }

    /// The reason why the lease is over, its deadline included.
    pub(crate) fn over_now(&self, state: &LeaseState) -> Option<LeaseEnd> {
        self.over_at(state, self.shared.now())
    }

    pub(super) fn over_at(&self, state: &LeaseState, now: Moment) -> Option<LeaseEnd> {
        self.over_in(state).or_else(|| {
            let has_expired = now >= state.deadline;
            has_expired.then(|| self.shared.end_of_validity(state))
        })
    }

    pub(crate) fn over_in(&self, state: &LeaseState) -> Option<LeaseEnd> {
        if state.generation == self.generation {
            state.over.clone()
        } else {
            Some(state.over.clone().unwrap_or(LeaseEnd::Released))
        }
    }
}

impl fmt::Debug for LeaseHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseHandle")
            .field("resource", &self.shared.resource)
            .field("token", &self.shared.claim.token)
            .field("validity", &self.validity())
            .field("over", &self.over())
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.handle).finish()
    }
}
