//! What is asked of a lock of any kind.

mod force_release;
mod peek;

use crate::node::script::Script;

pub(crate) use force_release::FORCE_RELEASE;
pub(crate) use peek::PEEK;

pub(crate) static SCRIPTS: &[&Script] = &[&PEEK, &FORCE_RELEASE];
