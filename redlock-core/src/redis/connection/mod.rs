//! One connection to a server, over the `redis` crate.

pub(super) mod actor;
pub(super) mod check;
pub(super) mod command;
pub(super) mod connect;
mod line;
pub(super) mod open;
pub(super) mod questions;
mod refusals;
pub(super) mod wakeups;

#[cfg(test)]
mod tests;
