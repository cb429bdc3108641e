//! Addresses ([`RedisAddress`]) and options ([`RedisOptions`]) of a [`RedisNode`](crate::RedisNode).
//!
//! A `RedisNode` is a Redis server, or a whole Redis Cluster, that votes as one node. It connects in the background, on
//! the runtime on which it was started, and reconnects if the connection breaks. A node that was started outside of a
//! runtime connects on the [`IoThread`](crate::IoThread). A disconnected node votes no at once, so its callers never
//! wait for it. Each node keeps one connection; a Cluster keeps one for each master.
//!
//! # Example: a node, by its URL
//! ```no_run
//! use redlock_core::redis::{RedisAddress, RedisOptions};
//! use redlock_core::{IoThread, RedisNode};
//!
//! # async fn connect() -> Result<(), Box<dyn std::error::Error>> {
//! let io = IoThread::start()?;
//! let address = RedisAddress::parse("redis://10.0.0.1:6379")?;
//! let node = RedisNode::start("a", address, RedisOptions::default(), &io);
//! // Wait for the first connection, because the node votes no until then.
//! node.wait_until_settled().await;
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
