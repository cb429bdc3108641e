//! The Redlock algorithm over independent Redis nodes.
//!
//! This crate is the algorithm and nothing else: it holds no global state and knows no macro.
//! Applications use `redlock-runtime`, which adds the `#[redlock]` attribute, the registry of
//! pools, configuration and shutdown.
//!
//! The path of every lock is *request → waiting → attempt → lease → release*:
//! a [`Client`] takes a [`Request`] to a set of [`Node`]s and comes back with a [`Lease`].
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

mod attempt;
mod caught;
mod claim;
mod client;
mod environment;
mod error;
mod extend;
mod fencing;
pub mod guard;
mod handover;
mod hold;
mod io_thread;
mod join;
mod lease;
mod leave;
mod memory;
mod node;
mod notice;
mod observe;
mod operation;
mod patience;
mod possession;
mod queue;
mod quorum;
mod race;
mod redis_node;
mod renew;
mod request;
mod resource;
mod round;
#[doc(hidden)]
#[cfg(feature = "simulation")]
pub mod simulation;
mod slot;
#[cfg(test)]
mod still_clock;
mod timekeeper;
mod token;
mod vigil;
mod votes;

#[doc(hidden)]
pub use caught::caught;
pub use client::{Client, DEFAULT_NODE_TIMEOUT, NodeSet, Settings};
pub use environment::{Clock, Entropy, Environment, Moment, Sleep, Spawn, Task};
pub use error::{
    AcquireError, Brief, Contended, ExtendError, Invalid, NodeOutcome, NodeReport, Over, TooLate,
    Unavailable,
};
pub use fencing::FencingToken;
pub use handover::Handover;
pub use hold::{Held, OnLost};
pub use io_thread::IoThread;
pub use lease::{Lease, LeaseHandle};
pub use leave::Released;
pub use memory::MemoryNode;
pub use node::{
    Answer, ClockOffset, EpochListener, ErrorCounts, Holding, LastError, Latency, Node, NodeError,
    NodeErrorKind, NodeStatus, NodeTime, NodeVitals, Remaining, Reply, ask,
};
pub use observe::{ObserveAnswers, ObserveExtensions};
pub use operation::{COUNTER_IDLE, HINT_WINDOW, Operation, Want};
pub use quorum::majority;
pub use redis_node::{RedisAddress, RedisNode, RedisOptions, TlsOptions, Vetting};
pub use request::{MIN_TTL, Renewal, Request, Retry, RetryLimit, check_drift_factor, check_ttl};
pub use resource::{MAX_NAMES, MAX_RESOURCE_BYTES, RESERVED_PREFIX, Resource};
pub use token::OwnerToken;
/// For tests on real nodes.
#[doc(hidden)]
pub use vigil::Vigil;
pub use vigil::{Sighting, Watch};
