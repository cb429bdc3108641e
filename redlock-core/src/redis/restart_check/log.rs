//! What a node's restart check writes to the log. A fact is logged once, until it changes. A
//! quarantine is also logged again on a new connection.

use std::time::Duration;

use crate::env::caught::log;
use crate::node::log::{NodeLog, log_node};
use crate::quorum::fencing::HINT_WINDOW;

/// The log of one node's checks, over all its connections.
pub(super) struct CheckLog {
    node: NodeLog,
    /// The last logged reason for not voting, without figures. Empty while the node votes, and on a new connection: the
    /// line `node connected` came after it, and people would believe that the node votes.
    reason: String,
    /// True if the node's clock differs from this host's clock.
    is_off: bool,
}

impl CheckLog {
    pub(super) fn new(node: &NodeLog) -> Self {
        Self {
            node: node.clone(),
            reason: String::new(),
            is_off: false,
        }
    }

    /// Records that there is a new connection.
    pub(super) fn connected(&mut self) {
        self.reason.clear();
    }

    /// Logs that the node votes again, if it was logged that it does not.
    pub(super) fn votes(&mut self) {
        if !std::mem::take(&mut self.reason).is_empty() {
            log_node!(self.node, INFO, "node votes again");
        }
    }

    /// Logs that the node does not vote for `reason`.
    pub(super) fn held(&mut self, reason: &str) {
        // The text after `;` is the remaining time, which makes no new reason.
        let kind = reason.split(';').next().unwrap_or(reason);
        if self.reason != kind {
            log_node!(
                self.node,
                WARN,
                "node in quarantine; it does not vote until that ends",
                %reason
            );
            kind.clone_into(&mut self.reason);
        }
    }

    pub(super) fn stepped(&self, by_ms: i64) {
        log!(
            warn,
            pool = %self.node.pool, by_ms,
            "the node's clock stepped; it drops locks early or late",
        );
    }

    /// Logs that the node's clock, which shows `theirs`, differs from this host's, which shows `ours`, by
    /// more than a fencing hint may be off.
    pub(super) fn wall_clock(&mut self, theirs: Duration, ours: Duration, round_trip: Duration) {
        let off = ours.abs_diff(theirs);
        let is_off = off > HINT_WINDOW + round_trip;
        if is_off && !self.is_off {
            let direction = if theirs > ours { "ahead of" } else { "behind" };
            log!(
                warn,
                pool = %self.node.pool, by_ms = u64::try_from(off.as_millis()).unwrap_or(u64::MAX),
                "the node's clock is {direction} this host's; synchronize both by one time service",
            );
        }
        self.is_off = is_off;
    }
}
