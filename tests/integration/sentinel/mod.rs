//! A master that sentinels manage, as one node.

mod agreement;
mod answers;
mod failover;
pub(crate) mod fixture;
mod forgotten;
mod puppet;
mod tls;
mod tracking;
