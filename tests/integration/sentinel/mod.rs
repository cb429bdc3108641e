//! A master that sentinels manage, as one node.

mod answers;
mod failover;
mod fixture;
mod forgotten;
mod kinds;
mod load;
mod tls;
mod tracking;
