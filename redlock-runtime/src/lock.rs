//! The object style: a lock without an attribute.

use std::future::Future;
use std::time::Duration;

use redlock_core::{OnLost, Renewal, Resource, RetryLimit};

use crate::acquire::{PoolNames, Wanted};
use crate::config::HttpSettings;
use crate::error::{LockError, LockErrorKind, Subject};
use crate::lease::{Lease, LeaseHandle};
use crate::parameters::{MinValidity, OnCancel, Parameters, Wait};
use crate::scope;

/// Begins a lock on `resource`, for what no attribute fits. Nothing happens before
/// [`acquire`](Lock::acquire) or [`run`](Lock::run).
///
/// # Example: a critical section
/// ```
/// # use redlock_runtime::{Config, LockError, Redlock};
/// # async fn example() -> Result<(), LockError> {
/// let total = redlock_runtime::lock("cart:7").retry_count(5).run(|_lease| async { 6 * 7 }).await?;
/// assert_eq!(total, 42);
/// # Ok(())
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
/// # redlock.registry().clone().scope(example()).await?;
/// # Ok(())
/// # }
/// ```
pub fn lock(resource: impl Into<Resource>) -> Lock {
    Lock {
        resource: resource.into(),
        pools: PoolNames::Default,
        parameters: Parameters::NONE,
    }
}

/// See [`lock`]. What is not said here comes from the registry's defaults.
#[must_use = "nothing is locked before `acquire` or `run`"]
pub struct Lock {
    resource: Resource,
    pools: PoolNames,
    parameters: Parameters,
}

impl Lock {
    /// The pools to lock on, instead of the default ones.
    pub fn pools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.pools = PoolNames::Owned(names.into_iter().map(Into::into).collect());
        self
    }

    /// The auto-release time.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.parameters.ttl = Some(ttl);
        self
    }

    /// How many retries follow the first attempt.
    pub fn retry_count(mut self, count: u32) -> Self {
        self.parameters.limit = Some(RetryLimit::Count(count));
        self
    }

    /// Keeps trying for so long, a hard bound, or [forever](Wait::Forever), instead of a number of
    /// retries.
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.parameters.limit = Some(wait.into().limit());
        self
    }

    /// Between attempts passes a random time between half of this and this.
    pub fn retry_delay(mut self, delay: Duration) -> Self {
        self.parameters.retry_delay = Some(delay);
        self
    }

    /// The drift allowed for is ttl × this + 2 ms.
    pub fn clock_drift_factor(mut self, factor: f64) -> Self {
        self.parameters.clock_drift_factor = Some(factor);
        self
    }

    /// An acquisition that leaves less validity is given up and retried: a [`Duration`], or a part
    /// of the ttl such as `0.66`.
    pub fn min_validity(mut self, least: impl Into<MinValidity>) -> Self {
        self.parameters.min_validity = Some(least.into());
        self
    }

    /// Renews the lease by itself, each time that a third of its validity has passed, until the
    /// lock has been held so long: a [`Duration`], or [`Renewal::Unlimited`]. Without this the ttl
    /// is final.
    pub fn max_hold(mut self, held: impl Into<Renewal>) -> Self {
        self.parameters.max_hold = Some(held.into());
        self
    }

    /// A release before the lock was held for so long leaves the keys until then: for jobs that are
    /// started by clocks which do not agree.
    pub fn min_hold(mut self, held: Duration) -> Self {
        self.parameters.min_hold = Some(held);
        self
    }

    /// Takes a fencing token with the lock: see [`LeaseHandle::fencing_token`].
    pub fn fencing(mut self, fencing: bool) -> Self {
        self.parameters.fencing = Some(fencing);
        self
    }

    /// What happens to the lock when the body of [`run`](Self::run) is cut off in the middle.
    pub fn on_cancel(mut self, on_cancel: OnCancel) -> Self {
        self.parameters.on_cancel = Some(on_cancel);
        self
    }

    /// What happens to the body of [`run`](Self::run) when its lease ends.
    pub fn on_lost(mut self, on_lost: OnLost) -> Self {
        self.parameters.on_lost = Some(on_lost);
        self
    }

    /// Acquires the lock. Below a body that holds the same resource on the same pools, the lease is
    /// that body's, shared.
    ///
    /// # Errors
    /// [`LockError`]; of the kind `Lost` only where a lease that was to be shared is over.
    ///
    /// # Cancellation
    /// Dropping the future sends the release of what it may have acquired to every node.
    pub async fn acquire(self) -> Result<Lease, LockError> {
        self.acquire_for(false).await
    }

    async fn acquire_for(self, has_body: bool) -> Result<Lease, LockError> {
        let Some(registry) = scope::current() else {
            return Err(LockError::new(
                LockErrorKind::NotInitialized,
                Subject::Resource(self.resource),
                HttpSettings::default(),
            ));
        };
        let wanted = Wanted {
            resource: self.resource,
            site: None,
            pools: self.pools,
            parameters: self.parameters,
            has_body,
        };
        registry.acquire(wanted).await
    }

    /// Acquires the lock, runs `body` under it, releases it.
    ///
    /// # Errors
    /// [`LockError`]: of the acquisition, or `Lost` where the body was cancelled because its lease
    /// ended.
    ///
    /// # Cancellation
    /// Dropping the future drops the body first, then releases.
    pub async fn run<F, B>(self, body: F) -> Result<B::Output, LockError>
    where
        F: FnOnce(LeaseHandle) -> B,
        B: Future,
    {
        self.acquire_for(true).await?.run(body).await
    }
}
