//! Locks that several holders have at a time, each with a permit.

mod acquire;

use crate::node::script::Script;

pub(crate) use acquire::ACQUIRE_PERMIT;

pub(crate) static SCRIPTS: &[&Script] = &[&ACQUIRE_PERMIT];
