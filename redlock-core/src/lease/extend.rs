//! Extension: a compare-and-expire on all nodes, never a SET. Once a majority has proved by it that the
//! lock is ours, keys that are gone are put back.

use std::time::Duration;

use crate::env::Moment;
use crate::env::caught::{caught, log};
use crate::env::timeout::before;
use crate::error::{ExtendError, LeaseEnd, NodeReport, Unavailable};
use crate::model::request::{check_ttl, drift};
use crate::quorum::claim::Extension;
use crate::quorum::extension_proof::ProofState;
use crate::quorum::majority;
use crate::quorum::round::Decided;

use super::LeaseHandle;

/// An extension in progress.
pub(crate) struct Extending {
    ttl: Duration,
    started: Moment,
    extension: Extension,
}

impl Extending {
    /// Completes when the votes so far decide the extension.
    pub(crate) fn decided(&self) -> Decided<'_> {
        self.extension.round.decided()
    }
}

impl LeaseHandle {
    /// Lets the lock live for at least `ttl` from now. Succeeds if a majority still held our token and
    /// granted before the old validity ended, which proves that no other client held the resource in
    /// between. Never shortens the lease.
    ///
    /// # Errors
    /// [`ExtendError::Ended`] if the lease is over, or turns out to be over because too many nodes no
    /// longer hold our token. [`ExtendError::Unavailable`] if no majority answered: the old deadline
    /// still holds, and another call may succeed. [`ExtendError::Invalid`] for a ttl outside the
    /// limits.
    ///
    /// # Cancellation
    /// If the future is dropped, the old deadline still holds here, although the nodes may keep the
    /// keys for longer. The release deletes the keys anyway.
    pub async fn extend(&self, ttl: Duration) -> Result<(), ExtendError> {
        let shared = &self.shared;
        let until = shared.now().saturating_add(shared.context().node_timeout);
        self.extend_until(ttl, until).await
    }

    /// The same, with `until` as the limit for the answers.
    pub(crate) async fn extend_until(
        &self,
        ttl: Duration,
        until: Moment,
    ) -> Result<(), ExtendError> {
        let extending = self.begin_extension(ttl)?;
        let until = until.min(self.shared.deadline());
        before(self.shared.clock(), until, extending.decided()).await;
        self.end_extension(&extending)
    }

    /// Sends an extension.
    pub(crate) fn begin_extension(&self, ttl: Duration) -> Result<Extending, ExtendError> {
        let shared = &self.shared;
        check_ttl(ttl, shared.clock_drift_factor)?;
        if let Some(over) = self.over() {
            return Err(ExtendError::Ended(over));
        }
        // The clock is read first: a node may count from the moment of sending.
        let started = shared.now();
        Ok(Extending {
            ttl,
            started,
            extension: shared.claim.extend(ttl),
        })
    }

    /// Concludes an extension by the votes so far.
    pub(crate) fn end_extension(&self, extending: &Extending) -> Result<(), ExtendError> {
        let outcome = self.count_extension(extending);
        if let Some(observer) = self.shared.observer.get() {
            caught("an observer of extensions", || {
                observer.extended(outcome.as_ref().copied());
            });
        }
        if outcome.is_ok() {
            log!(
                debug,
                resource = %self.resource(), token = self.token_id(),
                ttl_ms = extending.ttl.as_millis(), "extended",
            );
        }
        outcome
    }

    fn count_extension(&self, extending: &Extending) -> Result<(), ExtendError> {
        let shared = &self.shared;
        let (ttl, started) = (extending.ttl, extending.started);
        let (extension, round) = (&extending.extension, &extending.extension.round);
        match shared.claim.judge(extension) {
            ProofState::Proved => {
                let new_drift = drift(ttl, shared.clock_drift_factor);
                let deadline = started.saturating_add(ttl).saturating_sub(new_drift);
                self.prolong(started, deadline)
                    .map_err(ExtendError::Ended)?;
                shared.claim.restore(ttl);
                return Ok(());
            }
            ProofState::Lost => self.lose(LeaseEnd::Taken),
            ProofState::Open => {}
        }
        if let Some(over) = self.over() {
            return Err(ExtendError::Ended(over));
        }
        let tally = round.tally();
        let elapsed = shared.now().saturating_since(started);
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
