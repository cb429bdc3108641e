//! A job that runs once a period: the two looks of an acquisition.

use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::{AcquireError, LastRun};
use crate::kinds::Kind;
use crate::kinds::runs::{last_run, recall, run_keys};
use crate::lease::Lease;
use crate::model::invalid::Invalid;
use crate::model::resource::Resource;
use crate::node::NodeSet;
use crate::quorum::round::{Goal, Round};
use crate::waiting::LineKey;

use super::{Client, ClientShared};

impl Client {
    /// The run of `resource` that a majority of `nodes` remembers, within the node timeout: see
    /// [`Request::once_per`](crate::Request::once_per). A node that fails, or does not answer, remembers
    /// nothing. A record with more time left than a run of `period` can have does not count.
    ///
    /// # Errors
    /// [`Invalid`] for a key that belongs to the library.
    ///
    /// # Cancellation
    /// Dropping the future has no effect on the nodes.
    pub async fn last_run(
        &self,
        nodes: &NodeSet,
        resource: &Resource,
        period: Duration,
    ) -> Result<Option<LastRun>, Invalid> {
        let client = &*self.shared;
        let line_key = LineKey {
            keys: resource.keys_under(&client.context.key_prefix)?,
            kind: Kind::Exclusive,
            nodes: Arc::clone(nodes),
        };
        Ok(client.last_run(&line_key, period, None).await)
    }
}

impl ClientShared {
    /// The look before the wait: a late caller does not compete for the lock.
    pub(super) async fn unless_run(
        &self,
        line_key: &LineKey,
        period: Duration,
        end: Option<Moment>,
    ) -> Result<(), AcquireError> {
        let run = self.last_run(line_key, period, end).await;
        run.map_or(Ok(()), |run| Err(AcquireError::AlreadyRun(run)))
    }

    /// The look under the lock. The holder that ran submitted its record before it released the lock or
    /// handed it over. This look follows the record on the same connection, so the answers contain it. The
    /// caller's own limit does not bound this look: a caller
    /// that got the lock at the last moment would run the job again.
    pub(super) async fn unless_run_meanwhile(
        &self,
        lease: Lease,
        period: Duration,
    ) -> Result<Lease, AcquireError> {
        match self.last_run(&lease.line_key(), period, None).await {
            None => Ok(lease),
            Some(run) => {
                lease.release().await;
                Err(AcquireError::AlreadyRun(run))
            }
        }
    }

    async fn last_run(
        &self,
        line_key: &LineKey,
        period: Duration,
        end: Option<Moment>,
    ) -> Option<LastRun> {
        let context = &self.context;
        let keys = run_keys(&line_key.keys, &context.key_prefix);
        let question = Arc::new(recall(&keys));
        let until = context.now().saturating_add(context.node_timeout);
        let until = end.map_or(until, |end| until.min(end));
        let nodes = &line_key.nodes;
        let round = Round::start(nodes, &question, Goal::MajorityHeld);
        before(context.clock(), until, round.decided()).await;
        last_run(&round.answers(), period)
    }
}
