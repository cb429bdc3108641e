//! The attribute and the object style over registries of their own, on real servers.

mod attribute;
mod chain;
mod configuration;
pub(crate) mod fixture;
mod line;
mod looking;
mod object_style;
mod once_per;
mod outlived;
mod own_nodes;
mod permits;
mod places;
mod readers_writers;
mod reentrancy;
mod sets;
mod shutdown;
mod waiting;
