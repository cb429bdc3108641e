//! The Redlock algorithm over independent Redis nodes.
//!
//! This crate is the algorithm and nothing else: it holds no global state and knows no macro.
//! Applications use `redlock-runtime`, which adds the `#[redlock]` attribute, the registry of
//! pools, configuration and shutdown. Use this crate for nodes, clocks or randomness of your own.
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
//! # Ok::<_, redlock_core::AcquireError>(())
//! # })?;
//! # Ok(())
//! # }
//! ```
//!
//! # The path of a lock
//! *request → waiting → attempt → lease → release*: a [`Client`] takes a [`Request`] to a [`NodeSet`] and
//! comes back with a [`Lease`], or with an [`AcquireError`].
//!
//! * A [`Request`] has the [`Resource`] and everything else that one acquisition needs.
//! * Callers of one process that want the same lock wait in line; only the first asks the nodes.
//! * An attempt asks all nodes at once. [`majority`] says how many of them have to grant.
//! * A [`Lease`] is a claim that won. It is valid for the ttl less the time that the attempt took and an
//!   allowance for drift. A [`LeaseHandle`] looks at it and extends it.
//! * A release is sent to every node that may hold the key, also if the lease is dropped.
//!
//! # Nodes
//! A [`Node`] is one vote. [`RedisNode`] is a server, a master under Sentinel or a Redis Cluster, by its
//! [`RedisAddress`]; [`MemoryNode`] is in the process. [`restart_check`] decides when a node that may have
//! forgotten locks may vote.
//!
//! # The outside world
//! A client takes time, randomness and background tasks from an [`Environment`]. [`IoThread`] has the
//! system's, on a thread of its own, so that the crate needs no runtime of the caller's.
//!
//! # Features
//! No feature is on by default. `tls` adds `rediss://`. `simulation` is for this repository's tests, and no
//! part of the interface.
// docs.rs says which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod client;
mod context;
mod env;
mod error;
mod lease;
mod memory;
mod model;
mod node;
mod quorum;
mod redis;
pub mod restart_check;
#[doc(hidden)]
#[cfg(feature = "simulation")]
pub mod simulation;
mod waiting;

pub use client::{Client, DEFAULT_NODE_TIMEOUT, Settings};
#[doc(hidden)]
pub use env::caught::caught;
pub use env::io_thread::IoThread;
pub use env::{Clock, Entropy, Environment, Moment, Sleep, Spawn, Task};
pub use error::{
    AcquireError, Contended, ExtendError, LeaseEnd, NodeOutcome, NodeReport, TooLate, Unavailable,
};
pub use lease::observe::ObserveExtensions;
pub use lease::release::Released;
pub use lease::run::{BodyOutcome, OnLost};
pub use lease::{Lease, LeaseHandle};
pub use memory::MemoryNode;
pub use model::brief::Brief;
pub use model::invalid::Invalid;
pub use model::request::{
    MAX_TTL, MIN_TTL, Renewal, Request, Retry, RetryLimit, check_drift_factor, check_ttl,
};
pub use model::resource::{MAX_NAMES, MAX_RESOURCE_BYTES, RESERVED_PREFIX, Resource};
pub use model::token::OwnerToken;
pub use node::observe::ObserveAnswers;
pub use node::operation::{COUNTER_IDLE, HINT_WINDOW, Operation, Want};
pub use node::watch::{KeyReport, Watch};
pub use node::{
    Answer, ClockOffset, EpochListener, ErrorCounts, Holding, LastError, Latency, Node, NodeError,
    NodeErrorKind, NodeHealth, NodeSet, NodeStatus, NodeTime, Remaining, Reply, seat_of,
};
pub use quorum::fencing::FencingToken;
pub use quorum::majority;
pub use quorum::round::ask;
/// The scripts that a driver may call: their names and texts.
#[doc(hidden)]
#[cfg(feature = "simulation")]
pub use redis::scripts;
pub use redis::{RedisAddress, RedisNode, RedisOptions, TlsOptions, Vetting};
pub use waiting::handover::Handover;
/// For tests on real nodes.
#[doc(hidden)]
pub use waiting::wakeup::QuorumWatch;
