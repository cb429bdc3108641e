//! What is asked of a lock of any kind.

mod force_release;
mod holders;
mod kind;
mod peek;

use crate::node::script::Script;

pub(crate) use force_release::FORCE_RELEASE;
pub(crate) use holders::Holders;
pub(crate) use kind::number;
pub use kind::{force_release, inspect, peek};
pub(crate) use peek::PEEK;

pub(crate) static SCRIPTS: &[&Script] = &[&PEEK, &FORCE_RELEASE];
