//! Extends a lease, by a compare-and-expire on all nodes and never a SET. Restores missing keys once a majority has
//! proved that the lock is ours.

use std::sync::Arc;
use std::time::Duration;

use tracing::debug;

use crate::env::timeout::before;
use crate::error::{ExtendError, LeaseEnd, NodeReport, Unavailable};
use crate::logging::log_caught;
use crate::model::limits::{check_ttl, validity_of};
use crate::node::{Holding, Vote};
use crate::panics::caught;
use crate::quorum::claim::Extension;
use crate::quorum::extension_proof::ProofState;
use crate::quorum::round::Round;
use crate::targets;

use super::shared::LeaseShared;

/// The time before the deadline at which an extension gives up. A hundredth of the ttl replaces this time if that is
/// less. So the reason for a lease's end is known when the lease ends.
const MARGIN_BEFORE_DEADLINE: Duration = Duration::from_millis(2);

/// Receives the outcomes of a lease's extensions. Exporters of metrics implement this trait, because core keeps no
/// metrics. See [`LeaseHandle::observe_extensions`](crate::LeaseHandle::observe_extensions).
pub trait ObserveExtensions: Send + Sync {
    /// Receives the outcome of one extension, sent by a caller or by the renewal. The observer must not block.
    fn observe_extension(&self, outcome: Result<(), &ExtendError>);
}

/// Extends a lease, for [`LeaseHandle::extend`](crate::LeaseHandle::extend) and for the renewal. Waits for the answers,
/// but at most for `timeout`.
pub(super) async fn run_extension(
    shared: &LeaseShared,
    ttl: Duration,
    timeout: Duration,
) -> Result<(), ExtendError> {
    if let Some(over) = shared.over() {
        return Err(ExtendError::Ended(over));
    }
    check_ttl(ttl, shared.request.clock_drift_factor)?;
    // Read the clock before sending, because a node may count from the moment of sending.
    let sent_at = shared.now();
    let extension = shared.claim.send_extension(ttl, sent_at);
    let end = shared
        .deadline()
        .saturating_sub(MARGIN_BEFORE_DEADLINE.min(ttl / 100));
    let until = sent_at.saturating_add(timeout).min(end);
    before(shared.clock(), until, extension.round.decided()).await;
    // The error blames a silent node only if the node had this time. Near the deadline the node had less time.
    let timeout = until.saturating_since(sent_at).max(timeout.min(ttl / 10));
    let outcome = conclude(shared, &extension, timeout);
    if let Some(observer) = shared.observer() {
        caught("an observer of extensions", || {
            observer.observe_extension(outcome.as_ref().copied());
        });
    }
    outcome
}

/// Concludes an extension from the votes so far. The nodes had `timeout` to answer.
fn conclude(
    shared: &LeaseShared,
    extension: &Extension,
    timeout: Duration,
) -> Result<(), ExtendError> {
    match shared.claim.judge(extension) {
        ProofState::Proved => return prolong(shared, extension).map_err(ExtendError::Ended),
        ProofState::Lost => shared.lose(LeaseEnd::Taken(other_holder(&extension.round))),
        ProofState::Open => {}
    }
    if let Some(over) = shared.over() {
        return Err(ExtendError::Ended(over));
    }
    let nodes = &shared.claim.nodes;
    let elapsed = shared.now().saturating_since(extension.sent_at);
    let counted = shared.claim.counted_seats(extension);
    let answers = extension.round.answers_now(nodes);
    let reports = NodeReport::of_round(shared.names(), answers, counted, elapsed, timeout);
    let error = Unavailable::in_one_attempt(nodes.len(), reports, elapsed);
    shared.set_end_at_deadline(LeaseEnd::NotRenewed(Arc::new(error.clone())));
    Err(ExtendError::Unavailable(error))
}

/// Prolongs the lease after an extension that a majority proved, and restores missing keys.
fn prolong(shared: &LeaseShared, extension: &Extension) -> Result<(), LeaseEnd> {
    let (started, ttl) = (extension.sent_at, extension.ttl);
    let validity = validity_of(ttl, shared.request.clock_drift_factor);
    let deadline = started.saturating_add(validity);
    shared.prolong(started, deadline)?;
    shared.claim.restore(ttl);
    log_caught!(debug!(
        target: targets::LEASE,
        resource = %shared.request.resource, token = shared.claim.token.short_id(),
        ttl_ms = ttl.as_millis(), "extended",
    ));
    Ok(())
}

/// Returns the `host/pid` of another holder, if a node named one.
fn other_holder(round: &Round) -> Option<Arc<str>> {
    let answers = round.answers();
    let mut holdings = answers.iter().flatten().filter_map(Vote::holding);
    holdings.find_map(Holding::owner).map(Arc::from)
}

#[cfg(test)]
mod tests {
    use crate::waiting::tests::{Scene, TTL, extended, once, poll};

    #[test]
    fn a_grant_that_does_not_count_yet_is_said_to_be_so() {
        let scene = Scene::new();
        let [_, b, c] = &scene.nodes[..] else {
            panic!("three nodes");
        };
        c.cut();
        let lease = scene.acquired(&once());
        c.restore();
        // The extension restores the key on c.
        assert!(extended(&lease, TTL));
        b.cut();
        let refused = poll(&mut Box::pin(lease.extend(TTL))).map(|it| it.unwrap_err().to_string());
        let told = "1 of 3 nodes voted, 2 needed; b: cut off; c: granted, but does not count yet: its key came \
                    late or was put back; it counts once a majority of the others has granted another extension";
        assert_eq!(refused, std::task::Poll::Ready(told.to_owned()));
        b.restore();
        assert!(extended(&lease, TTL));
        b.cut();
        assert!(extended(&lease, TTL));
    }
}
