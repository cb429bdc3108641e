//! What is logged of a node that comes and goes.

use std::sync::Arc;

use crate::env::{Clock, Throttle};

/// The log of one node, over all its connections. A clone is the same log.
#[derive(Clone, Debug)]
pub(crate) struct NodeLog {
    pub(crate) pool: Arc<str>,
    /// A node that comes and goes has a line a second of each text.
    pub(crate) throttle: Arc<Throttle>,
}

impl NodeLog {
    pub(crate) fn new(pool: Arc<str>, clock: Arc<dyn Clock>) -> Self {
        Self {
            pool,
            throttle: Arc::new(Throttle::new(clock)),
        }
    }
}

/// Logs a node's new state: `log_node!(log, WARN, "text", field = 1)`. The value is true if the line was not held back.
macro_rules! log_node {
    ($log:expr, $level:ident, $text:literal $(, $($field:tt)+)?) => {{
        let log: &$crate::node::log::NodeLog = &$log;
        $crate::env::log_throttled!(&*log.throttle, (), $level, $text, pool = %log.pool $(, $($field)+)?)
    }};
}
pub(crate) use log_node;
