//! Extension: a compare-and-expire on all nodes, never a SET. Once a majority has proved by it that the
//! lock is ours, keys that are gone are put back.

use std::sync::Arc;
use std::time::Duration;
use tracing::debug;

use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::{ExtendError, LeaseEnd, NodeReport, Unavailable};
use crate::logging::log_caught;
use crate::model::limits::{check_ttl, drift};
use crate::node::Vote;
use crate::panics::caught;
use crate::quorum::claim::Extension;
use crate::quorum::extension_proof::ProofState;
use crate::quorum::majority;
use crate::quorum::round::Round;

use super::shared::LeaseShared;

/// An extension is given up so long before the deadline, or a hundredth of the ttl before it, that the reason why the
/// lease ends is known by then.
const BEFORE_THE_END: Duration = Duration::from_millis(2);

/// Receives the outcome of a lease's extensions. See
/// [`LeaseHandle::observe_extensions`](crate::LeaseHandle::observe_extensions). Core keeps no metrics of its own; an
/// exporter counts with an observer.
pub trait ObserveExtensions: Send + Sync {
    /// Receives the outcome of an extension that was sent, by hand or by the renewal. Must not block.
    fn extended(&self, outcome: Result<(), &ExtendError>);
}

/// See [`LeaseHandle::extend`](crate::LeaseHandle::extend). Waits for the answers for at most `timeout`.
pub(super) async fn extend(
    shared: &LeaseShared,
    ttl: Duration,
    timeout: Duration,
) -> Result<(), ExtendError> {
    if let Some(over) = shared.over() {
        return Err(ExtendError::Ended(over));
    }
    check_ttl(ttl, shared.request.clock_drift_factor)?;
    // The clock is read first: a node may count from the moment of sending.
    let started = shared.now();
    let extension = shared.claim.extend(ttl);
    let end = shared
        .deadline()
        .saturating_sub(BEFORE_THE_END.min(ttl / 100));
    let until = started.saturating_add(timeout).min(end);
    before(shared.clock(), until, extension.round.decided()).await;
    // A node that had less time is not at fault: the deadline may be near, if the process stood still.
    let timeout = until.saturating_since(started).max(timeout.min(ttl / 10));
    let outcome = conclude(shared, &extension, ttl, (started, timeout));
    let observer = shared.state.lock().observer.clone();
    if let Some(observer) = observer {
        caught("an observer of extensions", || {
            observer.extended(outcome.as_ref().copied());
        });
    }
    outcome
}

/// Concludes an extension by the votes so far.
fn conclude(
    shared: &LeaseShared,
    extension: &Extension,
    ttl: Duration,
    (started, timeout): (Moment, Duration),
) -> Result<(), ExtendError> {
    match shared.claim.judge(extension) {
        ProofState::Proved => {
            let drift = drift(ttl, shared.request.clock_drift_factor);
            let deadline = started.saturating_add(ttl).saturating_sub(drift);
            let prolonged = shared.prolong(started, deadline);
            prolonged.map_err(ExtendError::Ended)?;
            shared.claim.restore(ttl);
            log_caught!(debug!(
                resource = %shared.request.resource, token = shared.claim.token.short_id(),
                ttl_ms = ttl.as_millis(), "extended",
            ));
            return Ok(());
        }
        ProofState::Lost => shared.lose(LeaseEnd::Taken(other_holder(&extension.round))),
        ProofState::Open => {}
    }
    if let Some(over) = shared.over() {
        return Err(ExtendError::Ended(over));
    }
    let nodes = &shared.claim.nodes;
    let elapsed = shared.now().saturating_since(started);
    let counted = shared.claim.counts(extension);
    let answers = extension.round.answers_now(nodes);
    let reports = NodeReport::of_round(shared.names(), answers, counted, elapsed, timeout);
    let (all, needed) = (nodes.len(), majority(nodes.len()));
    let error = Unavailable::in_one_attempt(all, needed, reports, elapsed);
    let not_renewed = LeaseEnd::NotRenewed(Arc::new(error.clone()));
    shared.state.lock().not_prolonged = Some(not_renewed);
    Err(ExtendError::Unavailable(error))
}

/// The `host/pid` of another holder, if a node told one.
fn other_holder(round: &Round) -> Option<Arc<str>> {
    let answers = round.answers();
    let mut owners = answers.iter().filter_map(|answer| match answer {
        Some(Vote::Held(holding)) => holding.owner(),
        _ => None,
    });
    owners.next().map(Arc::from)
}
