//! The connection to a server, over the `redis` crate.

pub(super) mod actor;
pub(super) mod check;
pub(super) mod command;
pub(super) mod connect;
mod error_streaks;
pub(super) mod handshake;
pub(super) mod open;
mod pipeline;
pub(super) mod replica_wait;
pub(super) mod watches;

#[cfg(test)]
mod tests;
