//! Jobs that run once a period: nodes remember runs.

mod kind;
mod record;
mod run_record;

use crate::node::script::Script;

pub(crate) use kind::{beside, last_run, remembered_for, run_keys};
pub use kind::{recall, remember};
pub(crate) use record::{RECALL, REMEMBER};

pub(crate) static SCRIPTS: &[&Script] = &[&REMEMBER, &RECALL];
