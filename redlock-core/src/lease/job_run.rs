//! A holder's run of a job, and the record of it that nodes keep.

use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::error::NodeReport;
use crate::kinds::runs::{RunRecord, remember, remembered_for, run_key};
use crate::logging::log_throttled;
use crate::quorum::round::{Goal, Round};
use crate::targets;

use super::shared::LeaseShared;

/// The run of a job under one holder. A lease has a run if its request has a period.
pub(super) struct JobRun {
    period: Duration,
    began: Moment,
    /// The round that sent the record, once there is one.
    remembered: Option<Arc<Round>>,
}

impl JobRun {
    pub(super) fn new(period: Duration, began: Moment) -> Self {
        Self {
            period,
            began,
            remembered: None,
        }
    }

    /// Sends the record of the run to all nodes. See [`Lease::remember_run`](crate::Lease::remember_run).
    pub(super) fn send_record(&mut self, shared: &LeaseShared) {
        let ago = shared.now().saturating_since(self.began);
        // Round down, because a node counts whole milliseconds.
        let longest = remembered_for(self.period);
        let left = longest.saturating_sub(ago).as_millis();
        if left == 0 {
            return;
        }
        let began = shared.clock().wall().saturating_sub(ago).as_millis();
        let began = u64::try_from(began).unwrap_or(u64::MAX);
        let ttl = Duration::from_millis(u64::try_from(left).unwrap_or(u64::MAX));
        let claim = &shared.claim;
        let key = run_key(claim.protocol.keys(), &shared.context().key_prefix);
        let record = RunRecord {
            token: &claim.token,
            began,
            ttl,
            longest,
        };
        let call = remember(&key, &record);
        self.remembered = Some(Round::start(&claim.nodes, call, Goal::Majority));
    }

    /// Waits until a majority remembers the run, but at most for the node timeout. If too few nodes do, it logs that
    /// the job may run again in its period.
    pub(super) async fn wait_until_remembered(&self, shared: &LeaseShared) {
        let Some(round) = &self.remembered else {
            return;
        };
        let timeout = shared.context().node_timeout;
        let began = shared.now();
        round.wait_until_decided(shared.clock(), timeout).await;
        if round.tally().is_won() {
            return;
        }
        let elapsed = shared.now().saturating_since(began);
        let (names, votes) = (shared.names(), round.answers());
        let nodes = NodeReport::of_round(names, votes, u64::MAX, elapsed, timeout);
        let nodes: Vec<_> = nodes.iter().map(ToString::to_string).collect();
        log_throttled!(
            target: targets::LEASE, &shared.parts.throttle,
            shared.pools(),
            WARN,
            "too few nodes remember this run; the job may run again in its period",
            resource = %shared.request.resource,
            nodes = nodes.join("; ")
        );
    }
}
