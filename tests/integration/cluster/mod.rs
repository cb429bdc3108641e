//! A Redis Cluster as one node: real servers that move slots, die and fail over.

mod configuration;
mod every_slot;
mod failover;
pub(crate) mod fixture;
mod moving;
mod tls;
