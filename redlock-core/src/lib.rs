//! The Redlock algorithm over independent Redis nodes.
//!
//! This crate is the algorithm and nothing else: it holds no global state and knows no macro.
//! Applications use `redlock-runtime`, which adds the `#[redlock]` attribute, the registry of
//! pools, configuration and shutdown, and takes [nodes of your own](node). Use this crate for clocks or randomness of
//! your own.
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
//! *request → waiting → attempt → lease → release*: a [`Client`] takes a [`Request`] to a [`NodeSet`] and
//! comes back with a [`Lease`], or with an [`AcquireError`](error::AcquireError).
//!
//! * A [`Request`] has the [`Resource`] and everything else that one acquisition needs.
//! * Callers of one process that want the same lock wait in line; only the first asks the nodes.
//! * An attempt asks all nodes at once. [`majority`](quorum::majority) says how many of them have to grant.
//! * A [`Lease`] is a claim that won. It is valid for the ttl less the time that the attempt took and an
//!   allowance for drift. A [`LeaseHandle`] looks at it and extends it.
//! * A release is sent to every node that may hold the key, also if the lease is dropped.
//!
//! # Nodes
//! A [`Node`] is one vote. [`RedisNode`] is a server, a master under Sentinel or a Redis Cluster, by its
//! [`RedisAddress`](redis::RedisAddress); [`MemoryNode`] is in the process. [`restart_check`] decides
//! when a node that may have forgotten locks may vote. The connection of a [`RedisNode`] lives on the runtime on
//! which the node is started: while that runtime is blocked, the node does not vote.
//!
//! # The outside world
//! A client takes time, randomness and background tasks from an [`Environment`]. [`IoThread`] has the
//! system's, on a thread of its own. It also serves nodes that were started without a runtime, or whose runtime ended.
//!
//! # Modules
//! The names at the root are what locking takes. Every other name is in one module:
//! * [`request`]: how long a request tries and its lease is renewed; what a ttl and a name may be.
//! * [`error`]: why a lock was not acquired, or not extended; why a lease is over.
//! * [`lease`]: fencing tokens; how a body under a lease ended, and how its release went.
//! * [`redis`]: the address and the options of a [`RedisNode`].
//! * [`node`]: the contract of a [`Node`], its calls and answers, for nodes of your own; how a node has been doing.
//! * [`quorum`]: how many nodes are a majority.
//! * [`waiting`]: for how long callers of one process may hand a lock over to each other; what tells an
//!   observer of changes.
//! * [`restart_check`]: when a node that may have forgotten locks may vote, without I/O.
//! * [`mod@env`]: what an [`Environment`] is made of: clock, randomness, background work.
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
    //! What a majority of the nodes says of a lock: see [`Client::peek`](crate::Client::peek).

    pub use crate::client::force_release::ForceReleased;
    pub use crate::quorum::peek::{Holder, LockStatus, Undecided};
}

/// Has what only the crates of this library use. It is no part of the public API and changes without notice.
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
