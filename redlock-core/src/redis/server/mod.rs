//! One server: the inbox for its operations, and the driver that connects to it and serves them.
#![doc = include_str!("protocol.md")]

pub(super) mod driver;
pub(super) mod inbox;
pub(super) mod link;
pub(super) mod metrics;
pub(super) mod refusals;
pub(super) mod restart_check;
mod serve;
