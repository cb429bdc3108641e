//! Jobs that run once a period: nodes remember runs.

mod record;

use crate::node::script::Script;

pub(crate) use record::{RECALL, REMEMBER};

pub(crate) static SCRIPTS: &[&Script] = &[&REMEMBER, &RECALL];
