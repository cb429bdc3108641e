//! What a [`Lease`] gives and tells.
//!
//! * [`validity`](LeaseHandle::validity) says for how long the lock is certainly held.
//!   [`extend`](LeaseHandle::extend) prolongs it, and an [`ObserveExtensions`] is told of each extension.
//! * [`lost`](LeaseHandle::lost) completes when the lease is over, and a [`LeaseEnd`] says why.
//! * [`hold`](LeaseHandle::hold) runs a body only while the lease is valid: [`OnLost`] decides what
//!   happens to the body after that, and [`BodyOutcome`] says how it ended.
//! * [`release`](Lease::release) gives the keys back, and [`Released`] says how that went. Dropping the
//!   lease sends the same release and does not wait.
//! * A [`FencingToken`] lets a store refuse the writes of an earlier holder.
//!
//! # Example: a body that ends with its lease
//! ```
//! use std::pin::pin;
//! use std::sync::Arc;
//! use redlock_core::lease::{BodyOutcome, OnLost, Released};
//! use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let io = IoThread::start()?;
//! # let environment = io.environment();
//! # let node = MemoryNode::new("a", environment.clock.clone());
//! # let nodes: NodeSet = [Arc::new(node) as Arc<dyn Node>].into();
//! # let client = Client::new(environment);
//! # io.handle().block_on(async {
//! let lease = client.acquire(&nodes, &Request::new("order:42")).await?;
//! let body = pin!(async { "charged" });
//! match lease.hold(body, OnLost::Cancel).await {
//!     BodyOutcome::Done(receipt) => assert_eq!(receipt, "charged"),
//!     BodyOutcome::Cancelled(end) => println!("lost: {end}"),
//!     other => println!("done, but not in time: {other:?}"),
//! }
//! assert_eq!(lease.release().await, Released::Confirmed);
//! # Ok::<_, redlock_core::error::AcquireError>(())
//! # })?;
//! # Ok(())
//! # }
//! ```

pub(crate) mod body;
mod due;
pub(crate) mod events;
mod extend;
pub(crate) mod handle;
mod join;
pub(crate) mod observe;
pub(crate) mod release;
mod remember;
pub(crate) mod renew;
mod renewals;
mod watchers;

/// A lease: the lock in its holder's hands.
#[doc = include_str!("protocol.md")]
mod protocol {}

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

pub use crate::quorum::fencing::FencingToken;
pub use body::{BodyOutcome, BodyWatch, OnLost};
pub(crate) use handle::{Lease, LeaseHandle};
pub use observe::ObserveExtensions;
pub use release::Released;

use crate::context::Context;
use crate::env::{Clock, Moment, SharedMoment, Throttle};
use crate::error::{LeaseEnd, Unavailable};
use crate::kinds::Kind;
use crate::model::resource::Resource;
use crate::quorum::claim::Claim;
use crate::waiting::{LineKey, Lines, Turn};
use extend::SentExtension;
use renewals::Renewals;
use watchers::Watchers;

/// The parts that all leases of a client share.
pub(crate) struct Leases {
    pub(crate) context: Arc<Context>,
    pub(crate) lines: Arc<Lines>,
    pub(crate) renewals: Renewals,
    /// For the log lines that are about many leases at once.
    pub(crate) throttle: Throttle,
}

impl Leases {
    pub(crate) fn new(context: Arc<Context>, lines: Arc<Lines>) -> Self {
        Self {
            throttle: Throttle::new(Arc::clone(&context.environment.clock)),
            context,
            lines,
            renewals: Renewals::default(),
        }
    }
}

pub(crate) struct LeaseShared {
    pub(crate) leases: Arc<Leases>,
    pub(crate) claim: Arc<Claim>,
    resource: Resource,
    kind: Kind,
    /// The request's ttl.
    ttl: Duration,
    pub(crate) clock_drift_factor: f64,
    pub(crate) acquired_at: Moment,
    /// The time that the first holder waited for the lock, and the number of its attempts.
    waited: Duration,
    attempts: u32,
    pub(crate) fencing_token: Option<FencingToken>,
    /// The number of [`Lease`]s that share the lock. The last one to leave releases it.
    pub(crate) joined: AtomicU32,
    /// The deadline, or the clock's origin once the lease is over: before this moment no one has to look into
    /// `state` to know that the lease is valid. Written under its mutex.
    valid_until: SharedMoment,
    state: Mutex<LeaseState>,
}

pub(crate) struct LeaseState {
    pub(crate) generation: u32,
    pub(crate) deadline: Moment,
    /// The moment when a third of the validity is left.
    pub(crate) expiring: Moment,
    /// True once the process is about to end.
    pub(crate) is_shutdown_announced: bool,
    pub(crate) over: Option<LeaseEnd>,
    /// True once the lease was revoked. Then a body ends that would go on without the lock.
    pub(crate) is_revoked: bool,
    /// The last extension without a majority, unless a later one was granted.
    pub(crate) unproved: Option<Unproved>,
    /// The number of renewals that are running.
    pub(crate) renewals: u32,
    /// The time for which the lease was renewed, once a renewal has ended because of it.
    pub(crate) max_hold: Option<Duration>,
    pub(crate) extensions: u32,
    /// The turn in this lease's line, until the lease is over. `None` if the turn was passed on at once.
    pub(crate) turn: Option<Turn>,
    pub(crate) observer: Option<Arc<dyn ObserveExtensions>>,
    /// The tasks that wait under the lease. They are woken when `over`, `is_revoked` or `is_shutdown_announced`
    /// is set.
    pub(crate) watchers: Watchers,
}

/// An extension that no majority has granted.
pub(crate) enum Unproved {
    /// The renewal sent it. Its votes so far tell what is missing.
    Sent(Arc<SentExtension>),
    /// It was given up.
    GivenUp(Arc<Unavailable>),
    /// A renewal was due and did not run before the end of the validity.
    NotSent,
}

impl LeaseShared {
    /// Counts one more holder, unless the last one has left.
    pub(crate) fn add_holder(&self) -> bool {
        let add = |holders| (holders > 0).then_some(holders + 1);
        let (order, reading) = (Ordering::AcqRel, Ordering::Acquire);
        self.joined.fetch_update(order, reading, add).is_ok()
    }

    fn line_key(&self) -> LineKey {
        LineKey::new(self.claim.kind.line(), self.kind, &self.claim.nodes)
    }

    /// The names of the pools on which the lease is held: `a,b,c`.
    pub(crate) fn pools(&self) -> String {
        let names: Vec<_> = self.claim.nodes.iter().map(|node| node.name()).collect();
        names.join(",")
    }

    fn context(&self) -> &Context {
        &self.leases.context
    }

    pub(crate) fn clock(&self) -> &dyn Clock {
        self.leases.context.clock()
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock().now()
    }

    /// Call it after each change of the end or of the deadline, under the mutex of `state`.
    fn renew_valid_until(&self, state: &LeaseState) {
        let until = match state.over {
            None => state.deadline,
            Some(_) => Moment::from_origin(Duration::ZERO),
        };
        self.valid_until.set(until);
    }

    pub(crate) fn deadline(&self) -> Moment {
        self.state.lock().deadline
    }

    /// The reason why the validity ended, at its end.
    pub(crate) fn end_of_validity(&self, state: &LeaseState) -> LeaseEnd {
        match &state.unproved {
            Some(Unproved::Sent(sent)) => LeaseEnd::NotRenewed(Arc::new(self.unavailable(sent))),
            Some(Unproved::GivenUp(error)) => LeaseEnd::NotRenewed(Arc::clone(error)),
            Some(Unproved::NotSent) => LeaseEnd::StoodStill,
            None if state.renewals > 0 => LeaseEnd::StoodStill,
            None => state.max_hold.map_or(LeaseEnd::Expired, LeaseEnd::MaxHold),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Client, IoThread, MemoryNode, Node, NodeSet, Request};

    #[test]
    fn the_moment_of_expiring_only_moves_later() {
        let io = IoThread::start().unwrap();
        let environment = io.environment();
        let node = MemoryNode::new("a", Arc::clone(&environment.clock));
        let nodes: NodeSet = [Arc::new(node) as Arc<dyn Node>].into();
        let client = Client::new(environment);
        let request = Request::new("r");
        let lease = io.handle().block_on(client.acquire(&nodes, &request));
        let lease = lease.unwrap();
        let now = lease.shared.now();
        let after = |millis| now.saturating_add(Duration::from_millis(millis));
        let expiring = || lease.shared.state.lock().expiring;
        // The extension that began first is counted last.
        lease.prolong(after(5_000), after(60_000)).unwrap();
        let before = expiring();
        lease.prolong(after(1_000), after(60_100)).unwrap();
        assert_eq!(lease.shared.state.lock().deadline, after(60_100));
        assert_eq!(expiring(), before);
    }

    #[test]
    fn a_grant_that_does_not_count_yet_is_said_to_be_so() {
        let io = IoThread::start().unwrap();
        let environment = io.environment();
        let node = |name| MemoryNode::new(name, Arc::clone(&environment.clock));
        let [a, b, c] = ["a", "b", "c"].map(node);
        let nodes = [&a, &b, &c].map(|node| Arc::new(node.clone()) as Arc<dyn Node>);
        let nodes: NodeSet = Arc::new(nodes);
        let client = Client::new(environment.clone());
        c.cut();
        let request = Request::new("r");
        let lease = io
            .handle()
            .block_on(client.acquire(&nodes, &request))
            .unwrap();
        let extend = || io.handle().block_on(lease.extend(Duration::from_secs(60)));
        c.restore();
        // The key is put back on c.
        extend().unwrap();
        b.cut();
        let refused = extend().unwrap_err().to_string();
        let told = "1 of 3 nodes voted, 2 needed; b: cut off; c: granted, but does not count yet: its key came \
                    late or was put back; it counts once a majority of the others has granted another extension";
        assert_eq!(refused, told);
        b.restore();
        extend().unwrap();
        b.cut();
        extend().unwrap();
    }
}
