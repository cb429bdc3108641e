//! The address ([`RedisAddress`]) and the options ([`RedisOptions`]) of a
//! [`RedisNode`](crate::RedisNode): a Redis server, or a Redis Cluster, as a node.
//!
//! An operation is a message to the node's own driver (`server`), a task on the library's I/O thread that
//! owns the connection: it connects in the background, writes what has piled up in one go, and matches
//! answers to operations by their order. Callers never hold a lock across an await.
//!
//! `protocol` has the wire format, `tracking` the connection that tells of released locks, `cluster`
//! what is different with a Redis Cluster.

mod address;
mod cluster;
mod connection;
pub(crate) mod node;
mod options;
mod protocol;
mod sentinel;
mod server;
mod tls;
mod tracking;

pub use address::RedisAddress;
pub use options::{RedisOptions, Vetting};
#[cfg(feature = "simulation")]
pub use protocol::scripts::all as scripts;
pub use tls::TlsOptions;
