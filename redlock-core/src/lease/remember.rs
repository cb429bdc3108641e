//! Has the nodes remember a run.

use std::sync::Arc;
use std::time::Duration;

use crate::env::timeout::before;
use crate::env::{Moment, log_throttled};
use crate::error::NodeReport;
use crate::kinds::runs::{remember, remembered_for, run_keys};
use crate::quorum::round::{Goal, Round};
use crate::request::Request;

use super::Lease;

/// A holder's run of a job.
pub(crate) struct Run {
    period: Duration,
    began: Moment,
    /// The answers of the nodes that were told to remember it.
    remembered: Option<Arc<Round>>,
}

impl Run {
    /// The run that began at `began`, if `request` has a period.
    pub(crate) fn of(request: &Request, began: Moment) -> Option<Self> {
        request.once_per.map(|period| Self {
            period,
            began,
            remembered: None,
        })
    }
}

impl Lease {
    /// Has every node remember this holder's run: callers with a [`once_per`](Request::once_per) are refused
    /// until nine tenths of this holder's own period have passed since the run began, and no longer than for
    /// nine tenths of theirs. The record of a run of this period that is remembered for longer stays. Call it
    /// before the release, which the nodes serve after it.
    ///
    /// Does nothing if that time has passed already, and if the request has no period.
    ///
    /// The run of a lease begins with the attempt that won; that of a [joined](crate::LeaseHandle::join)
    /// lease, when it is [covered](Self::cover).
    pub fn remember_run(&mut self) {
        let Some(run) = &mut self.run else { return };
        let shared = &self.handle.shared;
        let ago = shared.now().saturating_since(run.began);
        // A node counts whole milliseconds.
        let longest = remembered_for(run.period);
        let left = longest.saturating_sub(ago).as_millis();
        if left == 0 {
            return;
        }
        let began = shared.clock().wall().saturating_sub(ago).as_millis();
        let began = u64::try_from(began).unwrap_or(u64::MAX);
        let ttl = Duration::from_millis(u64::try_from(left).unwrap_or(u64::MAX));
        let claim = &shared.claim;
        let keys = run_keys(claim.kind.keys(), &shared.context().key_prefix);
        let call = Arc::new(remember(&keys, &claim.token, began, (ttl, longest)));
        let round = Round::start(&claim.nodes, &call, Goal::Majority);
        run.remembered = Some(round);
    }

    /// Waits until a majority remembers the run, for at most the node timeout, and logs if it does not:
    /// the job may run again in its period.
    pub(super) async fn await_remembered(&self, run: &Run) {
        let Some(round) = &run.remembered else { return };
        let shared = &self.handle.shared;
        let timeout = shared.context().node_timeout;
        let began = shared.now();
        let until = began.saturating_add(timeout);
        before(shared.clock(), until, round.decided()).await;
        if round.tally().is_won() {
            return;
        }
        let elapsed = shared.now().saturating_since(began);
        let names = shared.claim.nodes.iter().map(|node| node.name());
        let nodes = NodeReport::of_round(names, round.answers(), elapsed, timeout);
        let nodes: Vec<_> = nodes.iter().map(ToString::to_string).collect();
        log_throttled!(
            &shared.leases.throttle,
            shared.pools(),
            WARN,
            "too few nodes remember this run; the job may run again in its period",
            resource = %shared.resource,
            nodes = nodes.join("; ")
        );
    }
}
