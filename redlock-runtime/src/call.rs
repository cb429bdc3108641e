//! What the attribute's expansion calls.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use redlock_core::{Renewal, Resource, RetryLimit};

use crate::acquire::{PoolNames, Wanted};
use crate::config::HttpSettings;
use crate::error::{LockError, LockErrorKind, Subject};
use crate::lease::Lease;
use crate::parameters::{MinValidity, Parameters};
use crate::scope;
use crate::site::Site;

/// One call of an annotated function, before it has its lock.
#[must_use]
pub struct Call {
    site: &'static Site,
    resource: Resource,
    /// What the attribute left to expressions.
    parameters: Parameters,
}

/// A resource from a template's pieces.
#[must_use]
pub fn resource(template: fmt::Arguments<'_>) -> Resource {
    match template.as_str() {
        Some(text) => text.into(),
        None => template.to_string().into(),
    }
}

impl Call {
    /// A call of the function at `site`, for a resource that is made already.
    pub fn new(site: &'static Site, resource: impl Into<Resource>) -> Self {
        Self {
            site,
            resource: resource.into(),
            parameters: Parameters::NONE,
        }
    }

    /// A ttl that the attribute gave as an expression.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.parameters.ttl = Some(ttl);
        self
    }

    /// A number of retries that the attribute gave as an expression.
    pub fn retry_count(mut self, count: u32) -> Self {
        self.parameters.limit = Some(RetryLimit::Count(count));
        self
    }

    /// A time to keep trying that the attribute gave as an expression.
    pub fn wait(mut self, budget: Duration) -> Self {
        self.parameters.limit = Some(RetryLimit::Wait(budget));
        self
    }

    /// A delay that the attribute gave as an expression.
    pub fn retry_delay(mut self, delay: Duration) -> Self {
        self.parameters.retry_delay = Some(delay);
        self
    }

    /// A drift factor that the attribute gave as an expression.
    pub fn clock_drift_factor(mut self, factor: f64) -> Self {
        self.parameters.clock_drift_factor = Some(factor);
        self
    }

    /// A least validity that the attribute gave as an expression.
    pub fn min_validity(mut self, least: impl Into<MinValidity>) -> Self {
        self.parameters.min_validity = Some(least.into());
        self
    }

    /// A longest time to hold that the attribute gave as an expression.
    pub fn max_hold(mut self, held: Duration) -> Self {
        self.parameters.max_hold = Some(Renewal::For(held));
        self
    }

    /// A shortest time to hold that the attribute gave as an expression.
    pub fn min_hold(mut self, held: Duration) -> Self {
        self.parameters.min_hold = Some(held);
        self
    }

    /// Acquires the lock. Dropping the future sends the release of what it may have acquired.
    pub async fn acquire(self) -> Result<Held, LockError> {
        let site = self.site;
        let Some(registry) = scope::current() else {
            let subject = Subject::Function(site.site_name());
            let (kind, http) = (LockErrorKind::NotInitialized, HttpSettings::default());
            return Err(LockError::new(kind, subject, http).at_site(site));
        };
        let mut parameters = self.parameters.above(site.parameters);
        if site.skips {
            // Whoever skips the work does not wait for it, unless the attribute says so itself.
            parameters.limit = parameters.limit.or(Some(RetryLimit::Count(0)));
        }
        let wanted = Wanted {
            resource: self.resource,
            site: Some(site),
            pools: site
                .pool_names()
                .map_or(PoolNames::Default, PoolNames::Static),
            parameters,
            has_body: true,
        };
        // Boxed: the way to a lock is a large future, and this one is part of the user's.
        let lease = Box::pin(async move { registry.acquire(wanted).await }).await?;
        Ok(Held { lease })
    }
}

/// The lock of one call. Dropping it sends the release.
#[must_use]
pub struct Held {
    lease: Lease,
}

impl Held {
    /// What `guard` binds in the body.
    pub fn lease(&self) -> &Lease {
        &self.lease
    }

    /// Polls the body for as long as the lease allows. Dropping the future stops polling it.
    pub async fn run<F: Future>(&self, body: Pin<&mut F>) -> Result<F::Output, LockError> {
        self.lease.hold(body).await
    }

    /// Releases the lock and waits until a next holder could win. The release is sent at the first
    /// poll, or when the future is dropped before it.
    pub async fn release(self) {
        self.lease.release().await;
    }
}
