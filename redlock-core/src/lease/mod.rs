//! What a [`Lease`] gives and tells.
//!
//! * [`validity`](LeaseHandle::validity) says for how long the lock is certainly held.
//!   [`extend`](LeaseHandle::extend) prolongs it, and an [`ObserveExtensions`] receives the outcome of each extension.
//! * [`lost`](LeaseHandle::lost) completes when the lease is over, and a [`LeaseEnd`](crate::error::LeaseEnd) says why.
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
//!     BodyOutcome::Late(receipt, end) => println!("{receipt}, but not in time: {end}"),
//! }
//! assert_eq!(lease.release().await, Released::Confirmed);
//! # Ok::<_, redlock_core::error::AcquireError>(())
//! # })?;
//! # Ok(())
//! # }
//! ```

mod body;
mod extend;
mod handle;
mod holder;
mod renewals;
mod run_record;
mod shared;

/// A lease: the lock in its holder's hands.
#[doc = include_str!("protocol.md")]
mod protocol {}

use std::sync::Arc;

pub use crate::quorum::fencing::FencingToken;
pub use body::{BodyOutcome, BodyWatch, OnLost};
pub use extend::ObserveExtensions;
pub use handle::LeaseHandle;
pub use holder::{Lease, Released};

use crate::context::Context;
use crate::logging::Throttle;
use crate::waiting::Lines;
use renewals::Renewals;

/// The parts that all leases of a client share.
pub(crate) struct Leases {
    pub(crate) context: Arc<Context>,
    pub(crate) lines: Arc<Lines>,
    renewals: Renewals,
    /// For the log lines that are about many leases at once.
    throttle: Throttle,
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

#[cfg(test)]
mod tests {
    use crate::waiting::tests::{MS, Scene, TTL, extended, once, poll};

    #[test]
    fn the_moment_of_expiring_only_moves_later() {
        let lease = Scene::new().acquired(&once());
        let now = lease.shared.now();
        let after = |millis| now.saturating_add(MS * millis);
        let expiring = || lease.shared.state.lock().expiring;
        // The extension that began first is counted last.
        lease.shared.prolong(after(5_000), after(60_000)).unwrap();
        let before = expiring();
        lease.shared.prolong(after(1_000), after(60_100)).unwrap();
        assert_eq!(lease.shared.state.lock().deadline, after(60_100));
        assert_eq!(expiring(), before);
    }

    #[test]
    fn a_grant_that_does_not_count_yet_is_said_to_be_so() {
        let scene = Scene::new();
        let [_, b, c] = &scene.nodes[..] else {
            panic!("three nodes");
        };
        c.cut();
        let lease = scene.acquired(&once());
        c.restore();
        // The key is put back on c.
        assert!(extended(&lease, TTL));
        b.cut();
        let refused = poll(&mut Box::pin(lease.extend(TTL))).map(|it| it.unwrap_err().to_string());
        let told = "1 of 3 nodes voted, 2 needed; b: cut off; c: granted, but does not count yet: its key came \
                    late or was put back; it counts once a majority of the others has granted another extension";
        assert_eq!(refused, std::task::Poll::Ready(told.to_owned()));
        b.restore();
        assert!(extended(&lease, TTL));
        b.cut();
        assert!(extended(&lease, TTL));
    }
}
