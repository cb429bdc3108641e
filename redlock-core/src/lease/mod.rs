//! Leases: held locks, their renewal, and how they end.
//!
//! * [`validity`](LeaseHandle::validity) is the time for which the lock is certainly held.
//!   [`extend`](LeaseHandle::extend) prolongs it, and an [`ObserveExtensions`] receives the outcome of each extension.
//! * [`lost`](LeaseHandle::lost) completes when the lease is over, and a [`LeaseEnd`](crate::error::LeaseEnd) says why.
//! * [`hold`](LeaseHandle::hold) runs a body only while the lease is valid. [`OnLost`] decides what happens to the body
//!   afterwards, and [`BodyOutcome`] says how it ended.
//! * [`release`](Lease::release) gives the keys back, and [`Released`] is the outcome. Dropping the lease sends the
//!   same release without waiting.
//! * A [`FencingToken`] lets a store refuse the writes of an earlier holder.
//!
//! # Example: a body that ends with its lease
//! ```
//! use std::pin::pin;
//! use std::sync::Arc;
//! use redlock_core::lease::{BodyOutcome, OnLost, Released};
//! use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};
//!
//! # let io = IoThread::start().unwrap();
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
//! # }).unwrap();
//! ```

pub(crate) mod body;
mod extension;
mod handle;
mod job_run;
#[expect(clippy::module_inception, reason = "a file has the name of its type")]
mod lease;
mod renewals;
mod shared;
pub(crate) mod shutdown;

use std::sync::Arc;

pub use crate::quorum::fencing::FencingToken;
pub use body::{BodyOutcome, OnLost};
pub use extension::ObserveExtensions;
pub use handle::LeaseHandle;
pub use lease::{Lease, Released};

use crate::context::Context;
use crate::logging::Throttle;
use crate::waiting::Lines;
use renewals::Renewals;
pub(crate) use shared::LeaseShared;

/// The parts of a client that its acquisitions and leases use.
pub(crate) struct ClientParts {
    pub(crate) context: Arc<Context>,
    pub(crate) lines: Arc<Lines>,
    renewals: Renewals,
    /// Limits the log lines that concern many leases at once.
    throttle: Throttle,
}

impl ClientParts {
    pub(crate) fn new(context: Arc<Context>, lines: Arc<Lines>) -> Self {
        Self {
            throttle: Throttle::new(Arc::clone(&context.environment.clock)),
            context,
            lines,
            renewals: Renewals::default(),
        }
    }
}
