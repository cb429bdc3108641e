//! The Redlock algorithm over independent Redis nodes.
//!
//! This crate contains the algorithm alone, with no global state and no macro. Applications use `redlock-runtime`, which
//! adds the `#[redlock]` attribute, the registry of pools, configuration and shutdown. `redlock-runtime` also accepts
//! [nodes of your own](node). Use this crate directly if you need a clock or randomness of your own.
//!
//! # Example: a lock over three in-process nodes
//! ```
//! use std::sync::Arc;
//! use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let io = IoThread::start()?;
//! let environment = io.environment();
//! let nodes: NodeSet = ["a", "b", "c"]
//!     .map(|name| Arc::new(MemoryNode::new(name, environment.clock.clone())) as Arc<dyn Node>)
//!     .into();
//! let client = Client::new(environment);
//!
//! # io.handle().block_on(async {
//! let lease = client.acquire(&nodes, &Request::new("order:42")).await?;
//! assert!(!lease.validity().is_zero());
//! lease.release().await;
//! # Ok::<_, redlock_core::error::AcquireError>(())
//! # })?;
//! # Ok(())
//! # }
//! ```
//!
//! # The path of a lock
//! *request → waiting → attempt → lease → release*: a [`Client`] sends a [`Request`] to the nodes of a [`NodeSet`]. The
//! result is a [`Lease`], or an [`AcquireError`](error::AcquireError).
//!
//! * A [`Request`] has the [`Resource`] and all other parameters of one acquisition.
//! * Callers of one process that want the same lock wait in line. Only the first caller asks the nodes.
//! * An attempt asks all nodes at once. [`majority`](quorum::majority) returns how many of them have to grant.
//! * A [`Lease`] is a lock that an attempt won. The lease is valid for the ttl, less the time that the attempt took, less
//!   an allowance for clock drift. A [`LeaseHandle`] reads the state of the lease, and extends it.
//! * The release is sent to every node that may hold the key. Dropping the lease sends the release, too.
//!
//! # Nodes
//! Each [`Node`] has one vote. Depending on its [`RedisAddress`](redis::RedisAddress), a [`RedisNode`] is one server, a
//! master under Sentinel, or a Redis Cluster. A [`MemoryNode`] lives in the process. [`restart_check`] decides when a
//! node that may have forgotten locks may vote. The connection of a [`RedisNode`] is served by the tokio runtime on
//! which the node was started. While something blocks that runtime, the node does not vote.
//!
//! # The outside world
//! A client takes time, randomness and background tasks from an [`Environment`]. An [`IoThread`] provides those of the
//! system, on a thread of its own. The thread also serves nodes that were started outside a runtime, or whose runtime
//! has ended.
//!
//! # Modules
//! The root has the names that every caller of a lock needs. Each other name is in one module:
//! * [`request`]: the types and the limits of a request's values: retries, renewal, ttl, names, kinds of locks.
//! * [`error`]: the reasons why an acquisition or an extension failed, and why a lease is over.
//! * [`lease`]: fencing tokens, the outcomes of bodies and releases, and observers of extensions.
//! * [`peek`]: the state of a lock on the nodes, and the result of a forced release.
//! * [`redis`]: the address and the options of a [`RedisNode`].
//! * [`node`]: the contract of a [`Node`], its calls and answers, for nodes of your own; the health of a node.
//! * [`quorum`]: the size of a majority, and the limits of fencing counters.
//! * [`waiting`]: the watch that tells an observer of changes to a lock.
//! * [`restart_check`]: the rules by which a node that may have forgotten locks may vote, without I/O.
//! * [`mod@env`]: the parts of an [`Environment`]: clock, randomness, background work.
//!
//! # Features
//! No feature is on by default. `tls` adds `rediss://`, `sentinel` adds `redis+sentinel://`, `cluster` adds
//! `redis+cluster://`. `testing` is for `[dev-dependencies]`: it adds helpers for tests of nodes and of code that holds
//! leases, in the module `testing` and as methods.
//!
//! # Versions
//! The documentation of `redlock-runtime` says in its section *Versions* what semantic versioning covers. The module
//! [`mod@redis`] re-exports the types of the `redis` crate that are in signatures.
// Makes docs.rs show which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;
mod context;
mod debug;
pub mod env;
pub mod error;
mod io_thread;
mod kinds;
pub mod lease;
mod logging;
mod memory;
mod model;
pub mod node;
mod panics;
mod process;
pub mod quorum;
pub mod redis;
pub mod request;
pub mod restart_check;
mod setters;
#[doc(hidden)]
pub mod targets;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod waiting;

pub use client::{Client, Settings};
pub use env::environment::Environment;
pub use io_thread::IoThread;
pub use lease::{Lease, LeaseHandle};
pub use memory::MemoryNode;
pub use model::resource::Resource;
pub use node::contract::{Node, NodeSet};
pub use redis::node::RedisNode;
pub use request::Request;

pub mod peek {
    //! The state of a lock on a majority of the nodes: see [`Client::peek`](crate::Client::peek).

    pub use crate::client::force_release::ForceReleased;
    pub use crate::quorum::peek::{Holder, LockStatus, Undecided};
}

/// Items for the other crates of this library. The public API excludes them, so they change without notice.
#[doc(hidden)]
pub mod internal {
    pub use crate::debug::debug_in_part;
    pub use crate::lease::body::BodyWatch;
    pub use crate::lease::shutdown::{announce_shutdown, revoke, revoke_and_release};
    pub use crate::logging::{Throttle, log_caught, log_throttled};
    pub use crate::node::contract::seat_of;
    pub use crate::panics::caught;
    pub use crate::process::{FORKED, is_forked};
}
