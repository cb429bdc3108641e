//! The attribute and the object style over registries of their own, on real servers.

mod attribute;
mod chain;
mod configuration;
mod fixture;
mod loss;
mod object_style;
mod shutdown;
