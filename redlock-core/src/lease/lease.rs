//! Leases: locks in the hands of their holders.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use crate::debug::debug_in_part;
use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::{ExtendError, LeaseEnd, TooLate, Unavailable};
use crate::io_thread::share_woken_tasks;
use crate::model::limits::{MaxHold, validity_of};
use crate::process::is_forked;
use crate::request::Request;
use crate::waiting::ClaimOutcome;
use crate::waiting::budget::RetryBudget;

use super::LeaseHandle;
use super::extension::run_extension;
use super::job_run::JobRun;
use super::renewals::{RenewalId, Renewals, RenewedLease};
use super::shared::LeaseShared;

/// A held lock. Dropping the lease sends the release to every node. [`release`](Self::release) also waits until the
/// next holder could win.
///
/// A lease dereferences to its [`LeaseHandle`], which code below the holder can keep.
pub struct Lease {
    handle: LeaseHandle,
    /// True once this holder has left.
    has_left: bool,
    /// The renewal that this holder asked for, which ends when this holder leaves.
    renewal: Option<RenewalId>,
    /// The run of this holder, if its request has a period.
    run: Option<JobRun>,
}

/// The outcome of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Released {
    /// A majority of the nodes is known to be free of the key, so another holder could win now.
    Confirmed,
    /// The release was sent, but too few nodes confirmed it within the node timeout. A node that cannot be reached
    /// frees the key when the ttl is over.
    Unconfirmed,
    /// Nothing was sent: other holders still share the lock, or the lock was released before.
    NotLast,
    /// The lock was handed over to the next waiting caller of this process.
    HandedOver,
}

impl Lease {
    pub(crate) fn new(shared: LeaseShared) -> Self {
        let shared = Arc::new(shared);
        let began = shared.granted.attempt_began;
        let mut lease = Self::of(LeaseHandle {
            shared: Arc::clone(&shared),
        });
        lease.start_renewal_and_job_run(&shared.request, began, began);
        lease
    }

    /// Makes the lease of one more holder, which `handle` counts already.
    pub(super) fn of(handle: LeaseHandle) -> Self {
        Self {
            handle,
            has_left: false,
            renewal: None,
            run: None,
        }
    }

    /// Starts what `request` asks for: a renewal counted from `renewed_from`, and a run that began at `began`. The
    /// renewal ends when the lease is over or this holder leaves, before the release is sent.
    fn start_renewal_and_job_run(
        &mut self,
        request: &Request,
        began: Moment,
        renewed_from: Moment,
    ) {
        self.run = request.once_per.map(|period| JobRun::new(period, began));
        let max_hold = match request.max_hold {
            MaxHold::Ttl => return,
            MaxHold::For(held) => held,
            MaxHold::Unlimited => Duration::MAX,
        };
        let renewed = RenewedLease {
            shared: Arc::clone(&self.shared),
            ttl: request.ttl,
            max_hold,
            end: renewed_from.saturating_add(max_hold),
        };
        let earlier = self.renewal.replace(Renewals::start(renewed));
        self.stop_renewal(earlier);
    }

    fn stop_renewal(&self, renewal: Option<RenewalId>) {
        if let Some(id) = renewal {
            self.shared.parts.renewals.stop(id);
        }
    }

    /// Returns a handle, which can be kept or passed on.
    pub fn handle(&self) -> LeaseHandle {
        self.handle.clone()
    }

    /// Makes a [joined](LeaseHandle::join) lease serve `request` as a newly acquired lock would. Extends it if
    /// necessary, and renews it as the request says while this holder stays. The request's `once_per` counts from now.
    /// No message is sent if the lease has the request's `min_validity` left, and nine tenths of the validity that the
    /// request's ttl would give. The caller has to know that the lock is of the right kind.
    ///
    /// # Errors
    /// The errors of [`extend`](LeaseHandle::extend). An extension without a majority is retried as the request says.
    ///
    /// # Cancellation
    /// As with [`extend`](LeaseHandle::extend). The lease stays joined until it is dropped.
    pub async fn cover(&mut self, request: &Request) -> Result<(), ExtendError> {
        request.check()?;
        let shared = Arc::clone(&self.shared);
        let environment = &shared.context().environment;
        let began = environment.now();
        let whole = validity_of(request.ttl, request.clock_drift_factor);
        let wanted = (whole / 10 * 9).max(request.min_validity);
        let (all, node_timeout) = (self.nodes().len(), shared.context().node_timeout);
        let mut budget = RetryBudget::new(environment, request, node_timeout);
        while self.validity() < wanted {
            let timeout = budget.begin_attempt(environment.now(), request.ttl).timeout;
            let extended = run_extension(&shared, request.ttl, timeout).await;
            let validity = self.validity();
            let failed = match extended {
                Ok(()) if validity >= request.min_validity => break,
                Ok(()) => Unavailable {
                    too_late: Some(TooLate::Validity(validity)),
                    ..Unavailable::in_one_attempt(all, Vec::new(), Duration::ZERO)
                },
                Err(ExtendError::Unavailable(failed)) => failed,
                Err(other) => return Err(other),
            };
            let Some(next) = budget.next_pause(environment, environment.now(), false) else {
                return Err(ExtendError::Unavailable(Unavailable {
                    attempts: budget.attempts,
                    waited: budget.waited(environment),
                    ..failed
                }));
            };
            // Stop waiting if the lease ends, because retries are useless then.
            before(shared.clock(), next, self.lost()).await;
        }
        self.start_renewal_and_job_run(request, began, environment.now());
        Ok(())
    }

    /// Makes every node remember this holder's run. Callers with a [`once_per`](Request::once_per) are then refused
    /// until nine tenths of this holder's period have passed since the run began, but at most for nine tenths of their
    /// own. If a node remembers another run of this period for longer, it keeps that record. Call this before the
    /// release, because nodes serve the two calls in order.
    ///
    /// Does nothing if nine tenths of the period have passed already, or if the request has no period.
    ///
    /// The run of a lease begins with the attempt that won. The run of a [joined](crate::LeaseHandle::join) lease
    /// begins when it is [covered](Self::cover).
    pub fn remember_run(&mut self) {
        if let Some(run) = &mut self.run {
            run.send_record(&self.handle.shared);
        }
    }

    /// Releases the lock on every node, if this is its last holder. Waits until a majority of the configured nodes is
    /// free of the key, but at most for the node timeout. Never fails: a release that could not be delivered is
    /// repeated after the reconnection, until the ttl is over.
    ///
    /// # Cancellation
    /// The release is sent at the first poll, or by a drop before that. A later drop only ends the waiting.
    pub async fn release(mut self) -> Released {
        let sent = self.leave();
        let released = wait_for_release(&self.shared, sent).await;
        if let Some(run) = self.run.take() {
            run.wait_until_remembered(&self.shared).await;
        }
        released
    }

    /// Leaves the lease. Returns what became of the claim if this was the last holder.
    fn leave(&mut self) -> Option<ClaimOutcome> {
        if std::mem::replace(&mut self.has_left, true) {
            return None;
        }
        if is_forked() {
            // The lock belongs to the parent process. Leak a clone, so that no drop here takes a mutex.
            std::mem::forget(self.handle.clone());
            return None;
        }
        let renewal = self.renewal.take();
        self.stop_renewal(renewal);
        self.shared.release(LeaseEnd::Released, 1)
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if self.leave().is_some() {
            // The release woke a driver, which tokio keeps in this worker's LIFO slot. An empty task takes the slot, so
            // that another worker can run the driver if the caller blocks this one.
            share_woken_tasks();
        }
    }
}

impl Deref for Lease {
    type Target = LeaseHandle;

    fn deref(&self) -> &LeaseHandle {
        &self.handle
    }
}

debug_in_part!(Lease, it => handle: it.handle);

/// Waits until a majority is free of our key, if a release was sent.
pub(super) async fn wait_for_release(shared: &LeaseShared, sent: Option<ClaimOutcome>) -> Released {
    match sent {
        None => Released::NotLast,
        Some(ClaimOutcome::HandedOver) => Released::HandedOver,
        Some(ClaimOutcome::Released(round)) => {
            let timeout = shared.context().node_timeout;
            round.wait_until_decided(shared.clock(), timeout).await;
            if round.tally().has_majority_answered() {
                Released::Confirmed
            } else {
                Released::Unconfirmed
            }
        }
    }
}
