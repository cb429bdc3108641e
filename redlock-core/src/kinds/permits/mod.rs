//! Locks that several holders have at a time, each with a permit.

mod acquire;
mod kind;

use crate::node::script::Script;

pub(crate) use acquire::ACQUIRE_PERMIT;
pub(crate) use kind::{AnyPermit, every_key, key_of};

pub(crate) static SCRIPTS: &[&Script] = &[&ACQUIRE_PERMIT];
