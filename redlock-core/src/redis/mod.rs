//! The address ([`RedisAddress`]) and the options ([`RedisOptions`]) of a
//! [`RedisNode`](crate::RedisNode): a Redis server, or a Redis Cluster, as a node.
//!
//! A node connects in the background, on the runtime on which it is started, and connects again if its connection
//! breaks. Without a runtime it connects on the [`IoThread`](crate::IoThread). While it is not connected, it votes no
//! at once, so it costs its callers no time. It keeps one connection; a Cluster has one for each master.
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
//! // Without this, an early attempt may find the node not connected.
//! node.wait_until_settled().await;
//! # Ok(())
//! # }
//! ```
// `server` keeps one server connected, `connection` serves one connection, `cluster` is many servers as one node.

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

// The whole crate would lengthen rustc's names of other types in the errors of users.
#[doc(no_inline)]
pub use ::redis::{AsyncConnectionConfig, Client};
pub use address::RedisAddress;
pub use options::{RedisOptions, TlsOptions, Vetting};
