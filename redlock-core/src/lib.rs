//! The Redlock algorithm over independent Redis nodes.
//!
//! This crate contains the algorithm alone, without global state. Applications use `redlock-runtime`, which adds the
//! `#[redlock]` attribute, the registry of pools, configuration and shutdown, and takes [nodes of your own](node). Use
//! this crate directly if you bring your own clocks or randomness.
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
//! *request → waiting → attempt → lease → release*: a [`Client`] sends a [`Request`] to a [`NodeSet`], and
//! returns a [`Lease`] or an [`AcquireError`](error::AcquireError).
//!
//! * A [`Request`] contains the [`Resource`] and all values of one acquisition.
//! * Callers of one process that want the same lock wait in line. Only the first caller asks the nodes.
//! * An attempt asks all nodes at once. [`majority`](quorum::majority) says how many of them have to grant.
//! * A [`Lease`] is a claim that a majority granted. It is valid for the ttl less the time that the attempt took and an
//!   allowance for drift. A [`LeaseHandle`] observes and extends the lease.
//! * The client sends a release to every node that may hold the key, also if the lease is dropped.
//!
//! # Nodes
//! A [`Node`] has one vote. The [`RedisAddress`](redis::RedisAddress) of a [`RedisNode`] names a server, a master under
//! Sentinel, or a Redis Cluster. A [`MemoryNode`] is in the process. [`restart_check`] decides when a node that may have
//! forgotten locks may vote. The connection of a [`RedisNode`] lives on the runtime on which the node is started. While
//! that runtime is blocked, the node does not vote.
//!
//! # The outside world
//! A client takes time, randomness and background tasks from an [`Environment`]. An [`IoThread`] provides those of the
//! system, on its own thread. The thread also serves nodes that were started without a runtime, or whose runtime ended.
//!
//! # Modules
//! Programs that lock need the names at the root. Every other name is in one module:
//! * [`request`]: limits of tries and renewals; limits of a ttl and a name.
//! * [`error`]: reasons for a failed acquisition or extension; reasons for the end of a lease.
//! * [`lease`]: fencing tokens; outcomes of bodies and of releases.
//! * [`redis`]: the address and the options of a [`RedisNode`].
//! * [`node`]: the contract of a [`Node`], its calls and answers, for nodes of your own; the health of a node.
//! * [`quorum`]: the number of nodes in a majority.
//! * [`waiting`]: the time for which callers of one process may hand a lock over; a watch for changes of a lock.
//! * [`restart_check`]: the rules for a node that may have forgotten locks, without I/O.
//! * [`mod@env`]: the parts of an [`Environment`]: clock, randomness, background work.
//!
//! # Features
//! No feature is on by default. `tls` adds `rediss://`, `sentinel` adds `redis+sentinel://`, `cluster` adds
//! `redis+cluster://`. `testing` is for `[dev-dependencies]`: it has what tests of nodes and of the holders of leases
//! need, in the module `testing` and as methods.
//!
//! # Versions
//! What semantic versioning covers is in the docs of `redlock-runtime`, in its section *Versions*. The types of the `redis`
//! crate in signatures are in [`mod@redis`].
// docs.rs says which feature an item needs.
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
    //! The status of a lock by a majority of the nodes: see [`Client::peek`](crate::Client::peek).

    pub use crate::client::force_release::ForceReleased;
    pub use crate::quorum::peek::{Holder, LockStatus, Undecided};
}

/// Contains the names that only the crates of this library use. They are outside of the public API.
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
