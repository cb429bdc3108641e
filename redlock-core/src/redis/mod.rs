//! The address ([`RedisAddress`]) and the options ([`RedisOptions`]) of a
//! [`RedisNode`](crate::RedisNode): a Redis server, or a Redis Cluster, as a node.
//!
//! A node connects in the background, on an [`IoThread`](crate::IoThread), and connects again if its
//! connection breaks. While it is not connected, it votes no at once, so it costs its callers no time.
//! It keeps one connection, and one more while a caller waits for a lock.
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
//! node.settled().await;
//! # Ok(())
//! # }
//! ```
// `server` has the driver of one server, `protocol` the wire format, `tracking` the connection on which a
// server tells of released locks, `cluster` what is different with a Redis Cluster.

mod address;
mod cluster;
#[allow(
    dead_code,
    unused_imports,
    reason = "the driver before the present one is removed next"
)]
mod connection;
mod multiplexed;
pub(crate) mod node;
mod options;
#[allow(
    dead_code,
    unused_imports,
    reason = "the driver before the present one is removed next"
)]
mod protocol;
#[allow(
    dead_code,
    unused_imports,
    reason = "the driver before the present one is removed next"
)]
mod server;
#[allow(
    dead_code,
    unused_imports,
    reason = "the driver before the present one is removed next"
)]
mod tls;
#[allow(
    dead_code,
    unused_imports,
    reason = "the driver before the present one is removed next"
)]
mod tracking;

pub use address::RedisAddress;
pub use options::{RedisOptions, Vetting};
pub use tls::TlsOptions;
