//! Joining: a call below the holder of a lock shares its lease.

use crate::env::Moment;
use crate::env::timeout::before;
use crate::error::{ExtendError, TooLate, Unavailable};
use crate::model::brief::Brief;
use crate::model::invalid::Invalid;
use crate::model::limits::drift;
use crate::request::Request;
use crate::waiting::budget::RetryBudget;

use super::remember::Run;
use super::{Lease, LeaseHandle};

impl LeaseHandle {
    /// Another holder of the same lock, for a call below this one. The key is released when the last
    /// holder has left. Nothing is sent. `None` if the lease is over.
    pub fn join(&self) -> Option<Lease> {
        if self.over().is_some() || !self.shared.add_holder() {
            return None;
        }
        Some(Lease::of(self.clone()))
    }

    /// An id of the lock. Leases that joined one lock have the same id.
    pub fn lock_id(&self) -> usize {
        std::sync::Arc::as_ptr(&self.shared).addr()
    }
}

impl Lease {
    /// Makes a joined lease serve `request`: it lasts about as long as a lock that is acquired now, is
    /// extended if necessary, and is renewed as the request says while this holder stays. The request's
    /// `once_per` counts from now. No message is sent while nine tenths of the validity of the request's ttl
    /// are left. The caller has to know that the lock is of the right kind.
    ///
    /// # Errors
    /// The errors of [`extend`](LeaseHandle::extend). An extension without a majority is retried as the
    /// request says.
    ///
    /// # Cancellation
    /// As for [`extend`](LeaseHandle::extend). The lease stays joined until it is dropped.
    pub async fn cover(&mut self, request: &Request) -> Result<(), ExtendError> {
        request.check()?;
        let environment = &self.shared.context().environment.clone();
        let began = environment.now();
        let whole = request
            .ttl
            .saturating_sub(drift(request.ttl, request.clock_drift_factor));
        let wanted = (whole / 10 * 9).max(request.min_validity);
        // The lease counts with the drift of its acquisition.
        let most = request
            .ttl
            .saturating_sub(drift(request.ttl, self.shared.clock_drift_factor));
        if request.min_validity >= most {
            return Err(ExtendError::Invalid(Invalid::new(format!(
                "`min_validity` of {} is not below the ttl less the drift that the lease above counts \
                 with, {}; give both the same `clock_drift_factor`",
                Brief(request.min_validity),
                Brief(most),
            ))));
        }
        if self.validity() < wanted {
            let mut budget = RetryBudget::new(
                environment,
                &request.retry,
                self.shared.context().node_timeout,
            );
            loop {
                let timeout = budget.begin_attempt(environment, request.ttl);
                let until = environment.now().saturating_add(timeout);
                let failed = match self.try_to_cover(request, until).await {
                    Ok(()) => break,
                    Err(ExtendError::Unavailable(failed)) => failed,
                    Err(other) => return Err(other),
                };
                let Some(next) = budget.next_attempt(environment, false) else {
                    return Err(ExtendError::Unavailable(Unavailable {
                        attempts: budget.attempts,
                        waited: environment.now().saturating_since(budget.began),
                        ..failed
                    }));
                };
                // A retry cannot help a lease that is over.
                before(&*environment.clock, next, self.lost()).await;
            }
        }
        self.run = Run::of(request, began);
        self.renew(request, environment.now());
        Ok(())
    }

    async fn try_to_cover(&self, request: &Request, until: Moment) -> Result<(), ExtendError> {
        self.extend_until(request.ttl, until).await?;
        let left = self.validity();
        if left >= request.min_validity {
            return Ok(());
        }
        let configured = self.nodes().len();
        Err(ExtendError::Unavailable(Unavailable {
            granted: configured,
            needed: crate::quorum::majority(configured),
            nodes: Vec::new(),
            too_late: Some(TooLate::Validity(left)),
            attempts: 1,
            waited: std::time::Duration::ZERO,
        }))
    }
}
