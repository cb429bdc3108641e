//! Extension: a compare-and-expire on all nodes, never a SET. Once a majority has proved by it that
//! the lock is ours, nodes where the key is gone are given it again.

use std::time::Duration;

use crate::environment::Moment;
use crate::error::{ExtendError, NodeReport, Over, Unavailable};
use crate::lease::LeaseHandle;
use crate::possession::Finding;
use crate::quorum::majority;
use crate::race::before;
use crate::request::{check_ttl, drift};

impl LeaseHandle {
    /// Lets the lock live for at least `ttl` from now. Succeeds when a majority still held our
    /// token and said yes before the old validity ended, which proves that nobody else held the
    /// resource in between. Never shortens the lease.
    ///
    /// # Errors
    /// [`ExtendError::Over`] where the lease is over, or turns out to be: too many nodes no longer
    /// hold our token. [`ExtendError::Unavailable`] where no majority answered: the old deadline
    /// still stands, and another try may succeed. [`ExtendError::Invalid`] for a ttl outside the
    /// limits.
    ///
    /// # Cancellation
    /// Dropping the future leaves the old deadline standing here, although the nodes may keep the
    /// keys for longer. The release deletes them all the same.
    pub async fn extend(&self, ttl: Duration) -> Result<(), ExtendError> {
        let shared = &self.shared;
        let until = shared.now().saturating_add(shared.client.node_timeout);
        self.extend_until(ttl, until).await
    }

    /// The same, waiting for the nodes until `until`.
    pub(crate) async fn extend_until(
        &self,
        ttl: Duration,
        until: Moment,
    ) -> Result<(), ExtendError> {
        let shared = &self.shared;
        check_ttl(ttl, shared.clock_drift_factor)?;
        if let Some(over) = self.over() {
            return Err(ExtendError::Over(over));
        }
        let clock = shared.clock();
        let started = clock.now();
        let extension = shared.claim.extend(ttl);
        let round = &extension.round;
        before(clock, until.min(shared.deadline()), round.decided()).await;

        match shared.claim.judge(&extension) {
            Finding::Proved => {
                let new_drift = drift(ttl, shared.clock_drift_factor);
                let deadline = started.saturating_add(ttl).saturating_sub(new_drift);
                self.prolong(started, deadline).map_err(ExtendError::Over)?;
                shared.claim.restore(&extension, ttl);
                return Ok(());
            }
            Finding::Lost => self.mark(Over::Taken),
            Finding::Open => {}
        }
        if let Some(over) = self.over() {
            return Err(ExtendError::Over(over));
        }
        let tally = round.tally();
        let elapsed = clock.now().saturating_since(started);
        let names = shared.claim.nodes.iter().map(|node| node.name());
        Err(ExtendError::Unavailable(Unavailable {
            granted: tally.granted,
            needed: majority(tally.configured),
            nodes: NodeReport::of_round(names, round.answers_now(&shared.claim.nodes), elapsed),
            too_late: None,
            attempts: 1,
            waited: elapsed,
        }))
    }
}
