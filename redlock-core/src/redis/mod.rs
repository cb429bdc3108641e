//! Addresses ([`RedisAddress`]) and options ([`RedisOptions`]) of a [`RedisNode`](crate::RedisNode).
//!
//! A `RedisNode` is a Redis server, or a whole Redis Cluster, that votes as one node. It connects in the background, on
//! the runtime on which it was started, and reconnects if the connection breaks. A node that was started outside of a
//! runtime connects on the [`IoThread`](crate::IoThread). A disconnected node votes no at once, so its callers never
//! wait for it. Each node keeps one connection; a Cluster keeps one for each master.
//!
//! # Example: three servers
//! The nodes of a client share a [`CheckedSet`](crate::restart_check::CheckedSet). Without one, a server that restarts
//! empty votes at once, and may grant a lock that it granted before.
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use redlock_core::redis::{RedisAddress, RedisOptions};
//! use redlock_core::restart_check::{CheckedSet, RestartCheck};
//! use redlock_core::{Client, IoThread, Node, NodeSet, RedisNode, Request, Settings};
//!
//! # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
//! let io = IoThread::start()?;
//! let max_ttl = Duration::from_secs(300); // No request may have a longer ttl.
//! let checked = Arc::new(CheckedSet::new(RestartCheck::Standard, max_ttl, 3, b"shop:"));
//! let options = RedisOptions::default().checked_set(checked);
//! let mut nodes = Vec::new();
//! for (name, host) in [("a", "10.0.0.1"), ("b", "10.0.0.2"), ("c", "10.0.0.3")] {
//!     let address = RedisAddress::parse(&format!("redis://{host}:6379"))?;
//!     nodes.push(Arc::new(RedisNode::start(name, address, options.clone(), &io)));
//! }
//! for node in &nodes {
//!     // A node votes no until its first connection.
//!     node.wait_until_settled().await;
//! }
//! let nodes: NodeSet = nodes.into_iter().map(|node| node as Arc<dyn Node>).collect();
//! // The prefix is that of the checked set.
//! let settings = Settings::default().key_prefix(*b"shop:");
//! let client = Client::with_settings(io.environment(), settings);
//! let lease = client.acquire(&nodes, &Request::new("order:42")).await?;
//! # Ok(())
//! # }
//! ```
// `server` keeps a server connected, `connection` serves a connection, `cluster` makes one node of many servers.

#![cfg_attr(
    not(all(feature = "cluster", feature = "sentinel")),
    allow(dead_code, reason = "the features share it")
)]

mod address;
mod backoff;
#[cfg(feature = "cluster")]
mod cluster;
mod connection;
mod errors;
mod inbox;
mod latest_answer;
pub(crate) mod node;
mod options;
mod secret_file;
#[cfg(feature = "sentinel")]
mod sentinel;
mod server;
#[cfg(feature = "tls")]
mod tls;
mod vetting;

// Only two types are exported. With the whole crate, rustc would print longer names of other types in users' errors.
#[doc(no_inline)]
pub use ::redis::{AsyncConnectionConfig, Client};
pub use address::RedisAddress;
pub use options::{RedisOptions, TlsOptions, Vetting};
