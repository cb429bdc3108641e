//! Exclusive locks with fencing tokens, for which nodes have counters.

mod acquire;
mod confirm;
pub(super) mod counters;
mod kind;

use crate::node::script::Script;

pub(crate) use acquire::ACQUIRE_FENCED;
pub(crate) use confirm::CONFIRM;
pub(crate) use kind::{Counters, Fenced, counter_ttl};

pub(crate) static SCRIPTS: &[&Script] = &[&ACQUIRE_FENCED, &CONFIRM];
