//! A lease: the lock as its holder has it.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use crate::claim::Claim;
use crate::client::{ClientShared, NodeSet};
use crate::environment::{Clock, Moment};
use crate::error::Over;
use crate::fencing::FencingToken;
use crate::notice::third_left;
use crate::request::Request;
use crate::resource::Resource;
use crate::round::Round;

/// A held lock. Dropping it sends the release to every node; [`release`](Self::release) also waits
/// until the next holder could win.
///
/// It dereferences to its [`LeaseHandle`], which is what code below the holder works with.
pub struct Lease {
    handle: LeaseHandle,
    /// This one has left already, by `release`.
    has_left: bool,
    /// Where this holder has the lease renewed: tells the renewal that the holder has left.
    pub(crate) renewed: Option<Arc<AtomicBool>>,
}

/// A view of a lease that may be cloned and kept. It holds nothing: once the lease is over, a
/// handle of it is inert.
#[derive(Clone)]
pub struct LeaseHandle {
    pub(crate) shared: Arc<LeaseShared>,
    /// The tenure that this handle belongs to. After a release or a hand-off the shared state is
    /// of a later generation, and nothing that this handle does has any effect.
    generation: u64,
}

pub(crate) struct LeaseShared {
    pub(crate) client: Arc<ClientShared>,
    pub(crate) claim: Claim,
    resource: Resource,
    pub(crate) clock_drift_factor: f64,
    pub(crate) acquired_at: Moment,
    fencing_token: Option<FencingToken>,
    /// How many [`Lease`]s share the lock; the last one to leave releases it.
    joined: AtomicUsize,
    /// One of them was cut off in the middle and wants the keys to stay until their ttl.
    is_left_to_expire: AtomicBool,
    state: Mutex<State>,
    /// Tells whoever waits in `lost` or holds a body that `state` changed.
    pub(crate) changed: Arc<Notify>,
}

/// What an attempt won.
#[derive(Clone, Copy)]
pub(crate) struct Terms {
    /// When the attempt began.
    pub(crate) acquired_at: Moment,
    pub(crate) deadline: Moment,
    pub(crate) fencing_token: Option<FencingToken>,
}

pub(crate) struct State {
    generation: u64,
    deadline: Moment,
    /// When only a third of the validity is left.
    pub(crate) expiring: Moment,
    /// The process is about to end.
    pub(crate) is_winding_down: bool,
    over: Option<Over>,
}

/// How a release went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Released {
    /// A majority of the nodes is known not to hold the key: a next holder could win now.
    Confirmed,
    /// The release was sent, but no majority confirmed it within the node timeout. A node that
    /// cannot be reached frees itself at the ttl.
    Unconfirmed,
    /// There was nothing to do: others who joined still hold the lock, or it was released before.
    NotLast,
    /// Nothing was sent: the keys stay until their ttl, because another one who joined
    /// [abandoned](Lease::abandon) the lease.
    LeftToExpire,
}

impl Lease {
    pub(crate) fn new(
        client: &Arc<ClientShared>,
        claim: Claim,
        request: &Request,
        terms: Terms,
    ) -> Self {
        let shared = LeaseShared {
            client: Arc::clone(client),
            claim,
            resource: request.resource.clone(),
            clock_drift_factor: request.clock_drift_factor,
            acquired_at: terms.acquired_at,
            fencing_token: terms.fencing_token,
            joined: AtomicUsize::new(1),
            is_left_to_expire: AtomicBool::new(false),
            state: Mutex::new(State {
                generation: 0,
                deadline: terms.deadline,
                expiring: third_left(terms.acquired_at, terms.deadline),
                is_winding_down: false,
                over: None,
            }),
            changed: Arc::new(Notify::new()),
        };
        let handle = LeaseHandle {
            shared: Arc::new(shared),
            generation: 0,
        };
        let mut lease = Self::of(handle);
        lease.renew(request, terms.acquired_at);
        lease
    }

    /// One more holder, who is counted already.
    pub(crate) fn of(handle: LeaseHandle) -> Self {
        Self {
            handle,
            has_left: false,
            renewed: None,
        }
    }

    /// A handle to keep or pass on.
    pub fn handle(&self) -> LeaseHandle {
        self.handle.clone()
    }

    /// Releases the lock on every node, unless others who joined still hold it, and waits until a
    /// majority of the configured nodes is known not to hold the key; at most the node timeout.
    /// Never an error: what could not be delivered is repeated after reconnection and bounded by
    /// the ttl.
    ///
    /// # Cancellation
    /// The release is sent at the first poll, or when the future is dropped before it. Dropping
    /// the future later gives up the waiting only.
    pub async fn release(mut self) -> Released {
        match self.leave() {
            Some(End::Released(sent)) => self.handle.settled(sent).await,
            Some(End::Abandoned) => Released::LeftToExpire,
            None => Released::NotLast,
        }
    }

    /// Leaves without a release: the keys stay until their ttl ends, unrenewed. Where others who
    /// joined still hold the lease, it goes on, and the last of them leaves the keys too. For a
    /// holder that was cut off in the middle, when what it has sent may still be at work.
    pub fn abandon(mut self) {
        // Before this one has left, so that the last one sees it.
        let shared = &self.handle.shared;
        shared.is_left_to_expire.store(true, Ordering::Release);
        self.leave();
    }

    /// How the lease ended, where this was the last one to leave.
    fn leave(&mut self) -> Option<End> {
        if std::mem::replace(&mut self.has_left, true) {
            return None;
        }
        let shared = &self.handle.shared;
        if let Some(has_left) = &self.renewed {
            has_left.store(true, Ordering::Release);
            shared.changed.notify_waiters();
        }
        if shared.joined.fetch_sub(1, Ordering::AcqRel) > 1 {
            return None;
        }
        if shared.is_left_to_expire.load(Ordering::Acquire) {
            if self.handle.begin_next_generation(Over::Released) {
                self.handle.shared.claim.abandon();
            }
            return Some(End::Abandoned);
        }
        Some(End::Released(self.handle.end(Over::Released)))
    }
}

/// What the last one to leave did.
enum End {
    /// The release was sent, unless it had been before.
    Released(Option<Arc<Round>>),
    /// The keys are left to their ttl.
    Abandoned,
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.leave();
    }
}

impl Deref for Lease {
    type Target = LeaseHandle;

    fn deref(&self) -> &LeaseHandle {
        &self.handle
    }
}

impl LeaseHandle {
    /// What is locked, without the key prefix.
    pub fn resource(&self) -> &Resource {
        &self.shared.resource
    }

    /// For how much longer the lock is ours for certain; zero once the lease is over.
    pub fn validity(&self) -> Duration {
        let state = self.shared.lock();
        match self.over_in(&state) {
            Some(_) => Duration::ZERO,
            None => state.deadline.saturating_since(self.shared.now()),
        }
    }

    /// How long it has been since the winning attempt began.
    pub fn held_for(&self) -> Duration {
        self.shared.now().saturating_since(self.shared.acquired_at)
    }

    /// The fencing token that came with the lock, where one was asked for. Hand it to the store
    /// with every write; it stays the same when the lease is extended.
    pub fn fencing_token(&self) -> Option<FencingToken> {
        self.shared.fencing_token
    }

    /// A few digits of the owner token, for logs.
    pub fn token_id(&self) -> &str {
        self.shared.claim.token.short_id()
    }

    /// Why the lease is over, or `None` while it is valid.
    pub fn over(&self) -> Option<Over> {
        let state = self.shared.lock();
        self.over_in(&state)
            .or_else(|| (self.shared.now() >= state.deadline).then_some(Over::Expired))
    }

    /// The nodes that the lock was acquired on, a majority of which granted it.
    pub fn nodes(&self) -> &NodeSet {
        &self.shared.claim.nodes
    }

    /// Ends the lease for everybody who joined and sends the release. For a process that is about
    /// to end, and a lease that has no body to wait for.
    ///
    /// # Cancellation
    /// The release is sent at the first poll; dropping the future then gives up the waiting only.
    pub async fn surrender(&self) -> Released {
        let sent = self.end(Over::Revoked);
        self.settled(sent).await
    }

    /// Waits until a majority is free of us, where a release was sent.
    async fn settled(&self, sent: Option<Arc<Round>>) -> Released {
        let Some(round) = sent else {
            return Released::NotLast;
        };
        let client = &self.shared.client;
        client.settle(&round, client.node_timeout).await;
        if round.tally().is_free_of_us() {
            Released::Confirmed
        } else {
            Released::Unconfirmed
        }
    }

    /// Records why the lease is over, unless it is already, and tells everybody.
    pub(crate) fn mark(&self, over: Over) {
        {
            let mut state = self.shared.lock();
            if self.over_in(&state).is_some() {
                return;
            }
            state.over = Some(over);
        }
        self.shared.changed.notify_waiters();
    }

    /// Begins the next generation, which makes every handle of this one inert, and sends the
    /// release. Once only.
    fn end(&self, over: Over) -> Option<Arc<Round>> {
        if self.begin_next_generation(over) {
            self.shared.claim.release()
        } else {
            None
        }
    }

    fn begin_next_generation(&self, over: Over) -> bool {
        {
            let mut state = self.shared.lock();
            if state.generation != self.generation {
                return false;
            }
            state.generation += 1;
            state.over.get_or_insert(over);
        }
        // Whoever renews the lease stops here, before the release is sent.
        self.shared.changed.notify_waiters();
        true
    }

    /// Moves the deadline on, never back. `Err` where the lease is over by now.
    /// It counts from `granted` on.
    pub(crate) fn prolong(&self, granted: Moment, deadline: Moment) -> Result<(), Over> {
        {
            let mut state = self.shared.lock();
            if let Some(over) = self.over_in(&state) {
                return Err(over);
            }
            if self.shared.now() >= state.deadline {
                return Err(Over::Expired);
            }
            if deadline > state.deadline {
                state.deadline = deadline;
                state.expiring = third_left(granted, deadline);
            }
        }
        self.shared.changed.notify_waiters();
        Ok(())
    }

    pub(crate) fn over_in(&self, state: &State) -> Option<Over> {
        if state.generation == self.generation {
            state.over
        } else {
            Some(state.over.unwrap_or(Over::Released))
        }
    }
}

impl LeaseShared {
    /// Counts one more holder, unless the last one has left.
    pub(crate) fn add_holder(&self) -> bool {
        let add = |holders| (holders > 0).then_some(holders + 1);
        let (order, reading) = (Ordering::AcqRel, Ordering::Acquire);
        self.joined.fetch_update(order, reading, add).is_ok()
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        &*self.client.environment.clock
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock().now()
    }

    pub(crate) fn deadline(&self) -> Moment {
        self.lock().deadline
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
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
