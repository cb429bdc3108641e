//! Extension: a compare-and-expire on all nodes, never a SET. Once a majority has proved by it that the
//! lock is ours, keys that are gone are put back.

use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::env::caught::{caught, log};
use crate::env::timeout::before;
use crate::error::{ExtendError, LeaseEnd, NodeReport, Unavailable};
use crate::model::limits::{check_ttl, drift};
use crate::node::Vote;
use crate::quorum::claim::Extension;
use crate::quorum::extension_proof::ProofState;
use crate::quorum::majority;
use crate::quorum::round::{Decided, bit};

use super::due::shortest;
use super::{LeaseHandle, LeaseShared, Unproved};

/// An extension in progress.
pub(crate) struct Extending {
    ttl: Duration,
    pub(crate) sent: Arc<SentExtension>,
}

/// What was sent for an extension, and until when the answers are waited for.
pub(crate) struct SentExtension {
    extension: Extension,
    started: Moment,
    pub(crate) until: Moment,
    /// A node that had less time than this is not at fault.
    timeout: Duration,
}

impl Extending {
    /// True if the votes so far decide the extension, or no answers are waited for any more.
    pub(crate) fn is_over(&self, now: Moment) -> bool {
        self.sent.extension.round.is_decided() || now >= self.sent.until
    }

    /// Completes when the votes so far decide the extension.
    pub(crate) fn decided(&self) -> Decided<'_> {
        self.sent.extension.round.decided()
    }
}

impl LeaseHandle {
    /// Lets the lock live for at least `ttl` from now. Succeeds if a majority of the nodes grants before
    /// the old validity ends. Only a continuous node counts, which is a node that has held our token without a break.
    /// So a success proves that no other client held the resource in between. Never shortens the lease.
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
        let extending = self.begin_extension(ttl, until)?;
        before(
            self.shared.clock(),
            extending.sent.until,
            extending.decided(),
        )
        .await;
        self.end_extension(&extending)
    }

    /// Sends an extension, whose answers are waited for until `until`, or until the deadline.
    pub(crate) fn begin_extension(
        &self,
        ttl: Duration,
        until: Moment,
    ) -> Result<Extending, ExtendError> {
        let shared = &self.shared;
        check_ttl(ttl, shared.clock_drift_factor)?;
        if let Some(over) = self.over() {
            return Err(ExtendError::Ended(over));
        }
        // The clock is read first: a node may count from the moment of sending.
        let started = shared.now();
        let extension = shared.claim.extend(ttl);
        let until = until.min(shared.deadline());
        // The deadline may be near, if the process stood still.
        let least = shared.context().node_timeout.min(shortest(ttl));
        let sent = SentExtension {
            extension,
            started,
            until,
            timeout: until.saturating_since(started).max(least),
        };
        Ok(Extending {
            ttl,
            sent: Arc::new(sent),
        })
    }

    /// Concludes an extension by the votes so far.
    pub(crate) fn end_extension(&self, extending: &Extending) -> Result<(), ExtendError> {
        let outcome = self.count_extension(extending);
        let observer = self.shared.state.lock().observer.clone();
        if let Some(observer) = observer {
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
        let (ttl, started) = (extending.ttl, extending.sent.started);
        match shared.claim.judge(&extending.sent.extension) {
            ProofState::Proved => {
                let new_drift = drift(ttl, shared.clock_drift_factor);
                let deadline = started.saturating_add(ttl).saturating_sub(new_drift);
                self.prolong(started, deadline)
                    .map_err(ExtendError::Ended)?;
                shared.claim.restore(ttl);
                return Ok(());
            }
            ProofState::Lost => self.lose(LeaseEnd::Taken(extending.sent.other_holder())),
            ProofState::Open => {}
        }
        if let Some(over) = self.over() {
            return Err(ExtendError::Ended(over));
        }
        let error = shared.unavailable(&extending.sent);
        shared.state.lock().unproved = Some(Unproved::GivenUp(Arc::new(error.clone())));
        Err(ExtendError::Unavailable(error))
    }
}

impl SentExtension {
    /// The `host/pid` of another holder, if a node told one.
    fn other_holder(&self) -> Option<Arc<str>> {
        let answers = self.extension.round.answers();
        let mut owners = answers.iter().filter_map(|answer| match answer {
            Some(Vote::Held(holding)) => holding.owner(),
            _ => None,
        });
        owners.next().map(Arc::from)
    }
}

impl LeaseShared {
    /// The error of an extension that no majority has granted so far.
    pub(crate) fn unavailable(&self, sent: &SentExtension) -> Unavailable {
        let configured = self.claim.nodes.len();
        let answers = sent.extension.round.answers_now(&self.claim.nodes);
        let elapsed = self.now().saturating_since(sent.started);
        let names = self.claim.nodes.iter().map(|node| node.name());
        let counted = self.claim.counts(&sent.extension);
        let counts = |seat| counted & bit(seat) != 0;
        let nodes = NodeReport::of_extension(names, answers, counts, elapsed, sent.timeout);
        Unavailable {
            granted: configured - nodes.len(),
            needed: majority(configured),
            nodes,
            too_late: None,
            attempts: 1,
            waited: elapsed,
        }
    }
}
