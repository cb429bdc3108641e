//! Renewals: extensions that a client sends for its leases.
//!
//! One task of each client waits until the first lease is due, and then spawns the extension of that lease. An
//! acquisition wakes the task only if its lease is due before all others. The task ends when no lease is waiting to
//! become due, and `schedule` starts it again.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::{ExtendError, LeaseEnd};
use crate::logging::{log_caught, log_throttled};
use crate::model::limits::validity_of;
use crate::panics::unless_it_panics;
use crate::targets;

use super::ClientParts;
use super::extension::run_extension;
use super::shared::LeaseShared;

/// The pause after a panic in a renewal.
const PAUSE_AFTER_PANIC: Duration = Duration::from_millis(100);

/// The shortest pause before a retry of a renewal, and the shortest time for the retry. A tenth of the ttl replaces
/// this time if that is less. Without this pause, nodes that refuse at once would be asked ever faster towards the end
/// of the leases, just when they are in trouble.
const RENEWAL_RETRY_PAUSE: Duration = Duration::from_millis(100);

/// The renewals of a client.
#[derive(Default)]
pub(crate) struct Renewals {
    state: Mutex<RenewalsState>,
    /// Wakes the task when a lease becomes due before the task's next look.
    due_sooner: Notify,
}

#[derive(Default)]
struct RenewalsState {
    leases: HashMap<RenewalId, (RenewedLease, Moment)>,
    /// The due times of the leases, except for leases that are just being extended.
    due: BTreeSet<(Moment, RenewalId)>,
    last_id: RenewalId,
    /// The time of the task's next look. `None` if there is no task.
    next_look: Option<Moment>,
}

/// The number of a renewal, unique within the client.
pub(super) type RenewalId = u64;

/// A lease that is renewed, with the ttl and the end of the renewal.
#[derive(Clone)]
pub(super) struct RenewedLease {
    pub(super) shared: Arc<LeaseShared>,
    pub(super) ttl: Duration,
    /// The time for which the lease is renewed. `end` is the moment when this time is over.
    pub(super) max_hold: Duration,
    pub(super) end: Moment,
}

impl RenewedLease {
    /// Returns the moment at which two thirds of the ttl's validity are left. An extension with a longer ttl does not
    /// change this rule.
    fn due(&self) -> Moment {
        let validity = validity_of(self.ttl, self.shared.request.clock_drift_factor);
        let rest = validity.saturating_sub(validity / 3);
        self.shared.deadline().saturating_sub(rest)
    }

    /// Extends the lease. Returns the moment when it is due again, or `None` if the renewal has ended.
    async fn renew(&self) -> Option<Moment> {
        let (shared, now) = (&self.shared, self.shared.now());
        // Extend only up to the end, in whole milliseconds.
        let left = self.end.saturating_since(now).min(self.ttl);
        let left = Duration::from_millis(u64::try_from(left.as_millis()).unwrap_or(u64::MAX));
        match run_extension(shared, left, shared.context().node_timeout).await {
            Ok(()) if now.saturating_add(self.ttl) < self.end => Some(self.due()),
            // The rest of `max_hold` is too short for another extension.
            Ok(()) | Err(ExtendError::Invalid(_)) => {
                shared.set_end_at_deadline(LeaseEnd::MaxHold(self.max_hold));
                None
            }
            Err(ExtendError::Unavailable(error)) => {
                log_caught!(log_throttled!(
                    target: targets::LEASE, &shared.parts.throttle,
                    shared.pools(),
                    WARN,
                    "lease not renewed; it is still valid",
                    resource = %shared.request.resource, token = shared.claim.token.short_id(),
                    %error
                ));
                let now = shared.now();
                let left = shared.deadline().saturating_since(now);
                Some(now.saturating_add(retry_pause(left, self.ttl)))
            }
            Err(ExtendError::Ended(over)) => {
                shared.keep_end(over.clone());
                // Stay silent if the lease was released, or is about to be.
                if !matches!(over, LeaseEnd::Released | LeaseEnd::Revoked) {
                    log_caught!(log_throttled!(
                        target: targets::LEASE, &shared.parts.throttle,
                        (shared.pools(), over.as_str()),
                        WARN,
                        "lease not renewed; it is over",
                        resource = %shared.request.resource, token = shared.claim.token.short_id(),
                        reason = %over
                    ));
                }
                None
            }
        }
    }
}

/// Returns the pause before the next try: a third of the validity that is `left`. The pause takes all that is left if a
/// shorter pause would leave too little time for answers.
fn retry_pause(left: Duration, ttl: Duration) -> Duration {
    let shortest = RENEWAL_RETRY_PAUSE.min(ttl / 10);
    let pause = (left / 3).max(shortest);
    if left < pause + shortest { left } else { pause }
}

impl Renewals {
    pub(super) fn start(renewed: RenewedLease) -> RenewalId {
        let parts = Arc::clone(&renewed.shared.parts);
        renewed.shared.add_renewal();
        let due = renewed.due();
        let mut state = parts.renewals.state.lock();
        state.last_id += 1;
        let id = state.last_id;
        state.leases.insert(id, (renewed, due));
        drop(state);
        Self::schedule(&parts, id, due);
        id
    }

    /// Stops a renewal.
    pub(super) fn stop(&self, id: RenewalId) {
        let mut state = self.state.lock();
        let Some((renewed, due)) = state.leases.remove(&id) else {
            return;
        };
        state.due.remove(&(due, id));
        // Drop the lease outside of the mutex, because this may be its last user.
        drop(state);
        renewed.shared.remove_renewal();
    }

    /// Sets the moment at which a lease is due, if its renewal still runs.
    fn schedule(parts: &Arc<ClientParts>, id: RenewalId, due: Moment) {
        let renewals = &parts.renewals;
        let mut state = renewals.state.lock();
        let Some(entry) = state.leases.get_mut(&id) else {
            return;
        };
        entry.1 = due;
        state.due.insert((due, id));
        let next_look = state.next_look;
        state.next_look = Some(next_look.map_or(due, |at| at.min(due)));
        drop(state);
        match next_look {
            Some(at) if at <= due => {}
            Some(_) => renewals.due_sooner.notify_one(),
            None => {
                let parts = Arc::clone(parts);
                let spawner = Arc::clone(&parts.context.environment.spawner);
                spawner.spawn(Box::pin(async move {
                    let running = unless_it_panics("the renewal of leases", Self::run(&parts));
                    if running.await.is_none() {
                        // The next lease starts the task again.
                        parts.renewals.state.lock().next_look = None;
                    }
                }));
            }
        }
    }

    async fn run(parts: &Arc<ClientParts>) {
        let clock = parts.context.clock();
        while let Some(next) = Self::extend_due(parts, clock.now()) {
            before(clock, next, parts.renewals.due_sooner.notified()).await;
        }
    }

    /// Spawns the extensions that are due. Returns the time of the next look, or `None` if no other lease will be due.
    fn extend_due(parts: &Arc<ClientParts>, now: Moment) -> Option<Moment> {
        loop {
            let (id, renewed) = {
                let mut state = parts.renewals.state.lock();
                state.next_look = state.due.first().map(|(due, _)| *due);
                if state.next_look? > now {
                    return state.next_look;
                }
                let (_, id) = state.due.pop_first()?; // Each entry of `due` has its lease.
                (id, state.leases.get(&id)?.0.clone())
            };
            let parts = Arc::clone(parts);
            let spawner = Arc::clone(&parts.context.environment.spawner);
            spawner.spawn(Box::pin(async move {
                let extending = unless_it_panics("the renewal of a lease", renewed.renew());
                let after_panic = || Some(now.saturating_add(PAUSE_AFTER_PANIC));
                match extending.await.unwrap_or_else(after_panic) {
                    Some(due) => Self::schedule(&parts, id, due),
                    None => parts.renewals.stop(id),
                }
            }));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tries_are_not_made_faster_and_faster_towards_the_end() {
        let ms = Duration::from_millis;
        for (ttl, shortest, tries) in [(60_000, 100, 14), (1000, 100, 3), (100, 10, 3)] {
            let (ttl, shortest) = (ms(ttl), ms(shortest));
            let mut left = ttl * 2 / 3;
            for _ in 0..tries {
                let pause = retry_pause(left, ttl);
                assert!(pause >= shortest && pause < left, "{pause:?} of {left:?}");
                left -= pause;
            }
            assert!(left >= shortest, "the last try has {left:?}");
            assert_eq!(retry_pause(left, ttl), left, "no further try");
        }
    }
}
