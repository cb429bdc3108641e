//! A master that sentinels manage, as one node.

mod answers;
mod failover;
pub(crate) mod fixture;
mod forgotten;
mod tls;
mod tracking;
