//! Has the nodes remember a run.

use std::sync::Arc;
use std::time::Duration;

use crate::env::caught::log;
use crate::env::timeout::before;
use crate::error::NodeReport;
use crate::node::operation::{Operation, Want};
use crate::quorum::round::{Goal, Round};
use crate::quorum::runs::{remembered_for, run_keys};

use super::Lease;

impl Lease {
    /// Has every node remember that this holder's run ended well: callers with a
    /// [`once_per`](crate::Request::once_per) are refused until nine tenths of `period` have passed
    /// since the run began. Call it before the release, which the nodes serve after it. Does nothing if
    /// that time has passed already, or if the lease is over: another process may have run meanwhile.
    ///
    /// The run of a lease begins with the attempt that won; that of a [joined](crate::LeaseHandle::join)
    /// lease, when it joined.
    pub fn remember_run(&mut self, period: Duration) {
        let shared = &self.handle.shared;
        let ago = shared.now().saturating_since(self.began);
        // A node counts whole milliseconds.
        let left = remembered_for(period).saturating_sub(ago).as_millis();
        if left == 0 || self.handle.over().is_some() {
            return;
        }
        let began = shared.clock().wall().saturating_sub(ago).as_millis();
        let want = Want::Remember {
            began: u64::try_from(began).unwrap_or(u64::MAX),
            ttl: Duration::from_millis(u64::try_from(left).unwrap_or(u64::MAX)),
        };
        let keys = run_keys(&shared.claim.keys, &shared.context().key_prefix);
        let operation = Arc::new(Operation::new(keys, shared.claim.token.clone(), want));
        let nodes = &shared.claim.nodes;
        let round = Round::start(nodes, &operation, Goal::Majority, |_| true);
        self.remembered = Some(round);
    }

    /// Waits until a majority remembers the run, for at most the node timeout, and logs if it does not:
    /// the job may run again in its period.
    pub(super) async fn await_remembered(&self, round: &Round) {
        let shared = &self.handle.shared;
        let timeout = shared.context().node_timeout;
        let until = shared.now().saturating_add(timeout);
        before(shared.clock(), until, round.decided()).await;
        if round.tally().is_won() {
            return;
        }
        let names = shared.claim.nodes.iter().map(|node| node.name());
        let nodes = NodeReport::of_round(names, round.answers(), timeout);
        let nodes: Vec<_> = nodes.iter().map(ToString::to_string).collect();
        log!(
            warn,
            resource = %shared.resource,
            nodes = nodes.join("; "),
            "too few nodes remember this run; the job may run again in its period",
        );
    }
}
