//! Handles: views of a lease that code below the holder may keep.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::debug::debug_in_part;
use crate::error::{ExtendError, LeaseEnd};
use crate::kinds::Kind;
use crate::model::note::Note;
use crate::model::resource::Resource;
use crate::model::token;
use crate::node::{NodeSet, bit};
use crate::quorum::fencing::TokenBlock;

use super::body::{BodyOutcome, BodyWatch, OnLost};
use super::extension::run_extension;
use super::shared::{LeaseShared, LeaseState};
use super::{FencingToken, Lease, ObserveExtensions};

/// A cloneable view of a lease. The handle does not keep the lock, and has no effect after the end of the lease.
#[derive(Clone)]
pub struct LeaseHandle {
    pub(super) shared: Arc<LeaseShared>,
}

impl LeaseHandle {
    /// Returns the locked resource. Its names are those of the request, before the key prefix.
    pub fn resource(&self) -> &Resource {
        &self.shared.request.resource
    }

    /// Returns the kind of the lock: which holders it excludes, and how many it may have.
    pub fn kind(&self) -> Kind {
        self.shared.request.kind
    }

    /// Returns the time for which the lock is certainly still ours. The time is zero once the lease is over.
    pub fn validity(&self) -> Duration {
        self.shared.validity()
    }

    /// Returns the time since the winning attempt began.
    pub fn held_for(&self) -> Duration {
        let began = self.shared.granted.attempt_began;
        self.shared.now().saturating_since(began)
    }

    /// Returns the time at which the winning attempt began, by this host's present wall clock.
    pub fn held_since(&self) -> SystemTime {
        let since = self.shared.clock().wall().saturating_sub(self.held_for());
        UNIX_EPOCH.checked_add(since).unwrap_or(UNIX_EPOCH)
    }

    /// Returns the ttl of the request. An extension may have used a different ttl.
    pub fn ttl(&self) -> Duration {
        self.shared.request.ttl
    }

    /// Returns the number of extensions, including renewals.
    pub fn extensions(&self) -> u32 {
        self.shared.extensions()
    }

    /// Returns the number of holders of the lock, [joined](Self::join) ones included. The number is zero after the
    /// release.
    pub fn holders(&self) -> usize {
        self.shared.holders() as usize
    }

    /// Returns the number of this client's callers that wait in line for the lock.
    pub fn waiting(&self) -> usize {
        self.shared.parts.lines.waiting_at(&self.shared.line_key())
    }

    /// Returns the number of the lease's permit, counted from 0. No two live holders have the same number. Returns
    /// `None` for locks of other kinds.
    pub fn permit(&self) -> Option<u16> {
        self.shared.claim.protocol.permit()
    }

    /// Returns the lock's fencing token, if the request asked for one. Send the token to the store with every write. An
    /// extension does not change the token.
    pub fn fencing_token(&self) -> Option<FencingToken> {
        self.shared.granted.tokens.map(TokenBlock::token)
    }

    /// Returns a few digits of the owner token, for logs.
    pub fn token_id(&self) -> &str {
        self.shared.claim.token.short_id()
    }

    /// Returns the note that the keys carry.
    pub fn note(&self) -> Option<Note> {
        token::note_of(self.shared.claim.token.as_bytes())
    }

    /// Returns the time that the acquiring caller waited, in line and for the nodes.
    pub fn waited(&self) -> Duration {
        self.shared.waited
    }

    /// Returns the number of attempts that the acquiring caller made. The number is zero if the lock was handed over
    /// unchanged.
    pub fn attempts(&self) -> u32 {
        self.shared.attempts
    }

    /// Returns the number of nodes that have granted the lock, including stragglers. Nodes whose key was restored later
    /// do not count.
    pub fn votes(&self) -> usize {
        self.shared.claim.votes()
    }

    /// Returns the nodes of the lock. A majority of these nodes granted the lock.
    pub fn nodes(&self) -> &NodeSet {
        &self.shared.claim.nodes
    }

    /// Returns the names of the nodes whose grant is missing. Such a node refused the lock or may have forgotten it,
    /// and did not count in the last extension. If there is no such node, the lock survives the restart of any single
    /// node. The list is also empty while answers may still arrive, and after the end of the lease.
    pub fn nodes_without_grant(&self) -> impl Iterator<Item = &str> {
        let timeout = self.shared.context().node_timeout.min(self.ttl() / 4);
        let is_settled = self.over().is_none() && self.held_for() >= timeout;
        let vouching = is_settled.then(|| self.shared.claim.vouching_seats());
        let vouches = move |seat| vouching.is_none_or(|seats| seats & bit(seat) != 0);
        let names = self.shared.names().enumerate();
        names.filter_map(move |(seat, name)| (!vouches(seat)).then_some(name))
    }

    /// Returns the keys of the lock on the nodes. Needs the feature `testing`.
    #[cfg(feature = "testing")]
    pub fn keys(&self) -> &Resource {
        self.shared.claim.protocol.keys()
    }

    /// Returns an id of the lock. All leases that joined one lock have the same id.
    pub fn lock_id(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// Returns the reason why the lease is over, or `None` while it is valid.
    pub fn over(&self) -> Option<LeaseEnd> {
        self.shared.over()
    }

    /// Waits until the lease is over, and returns the reason. Completes at once if the lease was released.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn lost(&self) -> LeaseEnd {
        self.shared.lost().await
    }

    /// Waits until the lease is about to end. The holder can still finish then. A lease is about to end when less than
    /// a third of the last granted validity is left, when the lease is over, or when a shutdown was announced. A
    /// renewed lease is about to end if its renewals fail, or if `max_hold` leaves no time for another renewal.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn expiring(&self) {
        self.shared.until(LeaseState::expires_soon).await;
    }

    /// True if [`expiring`](Self::expiring) would complete at once.
    pub fn is_expiring(&self) -> bool {
        self.shared.look(LeaseState::expires_soon).is_ok()
    }

    /// Polls `body` while the lease is valid. The deadline is checked on the client's clock before every poll.
    ///
    /// When a shutdown revokes the lease, the body is cancelled under either policy.
    ///
    /// # Cancellation
    /// If the future is dropped, the body's polls end. The lease itself does not change.
    pub async fn hold<F: Future>(
        &self,
        mut body: Pin<&mut F>,
        on_lost: OnLost,
    ) -> BodyOutcome<F::Output> {
        let mut watch = BodyWatch::new(self.clone(), on_lost);
        poll_fn(|context| watch.poll(context, |context| body.as_mut().poll(context))).await
    }

    /// Extends the lock so that it lives for at least `ttl` from now. Succeeds if a majority of the nodes grants the
    /// extension before the old validity ends. Only continuous nodes count, which have held our token without a break.
    /// So a success proves that no other client held the resource in between. Never shortens the lease.
    ///
    /// # Errors
    /// [`ExtendError::Ended`] if the lease is over, or if it turns out that too many nodes no longer hold our token.
    /// [`ExtendError::Unavailable`] if no majority answered: the old deadline still holds, and another call may
    /// succeed. [`ExtendError::Invalid`] for a ttl outside the limits.
    ///
    /// # Cancellation
    /// If the future is dropped, the old deadline still holds for this lease, even if the nodes keep the keys for
    /// longer. The release deletes the keys anyway.
    pub async fn extend(&self, ttl: Duration) -> Result<(), ExtendError> {
        run_extension(&self.shared, ttl, self.shared.context().node_timeout).await
    }

    /// Reports all later extensions to `observer`, including renewals. A lock keeps its first observer: if there is one
    /// already, this returns false.
    pub fn observe_extensions(&self, observer: Arc<dyn ObserveExtensions>) -> bool {
        self.shared.set_observer(observer)
    }

    /// Adds a holder of the same lock, for a call below this one. No message is sent. The key is released when the last
    /// holder has left. Returns `None` if the lease is over.
    pub fn join(&self) -> Option<Lease> {
        self.shared.join().then(|| Lease::of(self.clone()))
    }

    /// Checks that a majority of the nodes still vouches for the lease. If too many nodes may have forgotten the lease
    /// since their last grant, the lease ends, and `lost` returns [`LeaseEnd::Forgotten`]. Call this when a node
    /// [begins a new epoch](crate::Node::on_new_epoch).
    pub fn recheck(&self) {
        if !self.shared.claim.is_vouched_for() {
            self.shared.lose(LeaseEnd::Forgotten);
        }
    }

    /// Ends the lease as if an extension had found too many keys gone. `lost` then returns [`LeaseEnd::Taken`] without
    /// a name. Tests use this to see how holders react. Needs the feature `testing`.
    #[cfg(feature = "testing")]
    pub fn lose_keys(&self) {
        self.shared.lose(LeaseEnd::Taken(None));
    }
}

debug_in_part!(LeaseHandle, it =>
    resource: it.resource(),
    token: it.shared.claim.token,
    validity: it.validity(),
    over: it.over()
);
