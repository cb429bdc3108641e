//! Callers that wait and hold, counted while they do.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::env::caught;
use redlock_core::error::LeaseEnd;

use super::super::outcome::AcquireOutcome;
use super::RECORDER;
use super::site::{REASONS, SiteMetrics};

/// A waiting caller, counted until it has the lock, fails or is dropped.
pub(crate) struct Waiting {
    /// Until it ended, unless the recorder panicked.
    site: Option<Arc<SiteMetrics>>,
    is_ended: bool,
}

impl Waiting {
    pub(super) fn begin(site: Option<Arc<SiteMetrics>>) -> Self {
        let is_ended = false;
        if let Some(site) = &site {
            caught(RECORDER, || site.waiting.increment(1));
        }
        Self { site, is_ended }
    }

    pub(crate) fn acquired(&mut self, lease: &redlock_core::Lease) -> Holding {
        if let Some(site) = &self.site {
            caught(RECORDER, || site.wait.record(lease.waited()));
        }
        let site = self.end(AcquireOutcome::Acquired);
        Holding::begin(site, lease, Duration::ZERO)
    }

    pub(crate) fn joined(&mut self, lease: &redlock_core::Lease) -> Holding {
        let site = self.end(AcquireOutcome::Joined);
        // The lock was held before this call came.
        Holding::begin(site, lease, lease.held_for())
    }

    pub(crate) fn ended(&mut self, outcome: AcquireOutcome) {
        self.end(outcome);
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.is_ended
    }

    fn end(&mut self, outcome: AcquireOutcome) -> Option<Arc<SiteMetrics>> {
        self.is_ended = true;
        let site = self.site.take()?;
        caught(RECORDER, || {
            site.waiting.decrement(1);
            site.count(outcome);
        });
        Some(site)
    }
}

/// A held lease, counted until it ends.
pub(crate) struct Holding(Option<Counted>);

/// Where a holder is counted.
struct Counted {
    site: Arc<SiteMetrics>,
    /// The time for which the lease was held before.
    before: Duration,
}

impl Holding {
    fn begin(
        site: Option<Arc<SiteMetrics>>,
        lease: &redlock_core::Lease,
        before: Duration,
    ) -> Self {
        Self(site.map(|site| {
            caught(RECORDER, || site.held.increment(1));
            lease.observe_extensions(Arc::clone(&site) as _);
            Counted { site, before }
        }))
    }

    /// Its holder is done; to be called before it is released.
    pub(crate) fn ended(&self, lease: &redlock_core::Lease) {
        let Some(Counted { site, before }) = &self.0 else {
            return;
        };
        caught(RECORDER, || {
            site.held.decrement(1);
            site.hold.record(lease.held_for().saturating_sub(*before));
        });
        let over = lease.over();
        let reason = over.as_ref().map(LeaseEnd::as_str);
        if let Some(place) = REASONS.iter().position(|it| Some(*it) == reason) {
            caught(RECORDER, || site.lost[place].increment(1));
        }
    }

    /// No majority confirmed the release in time.
    pub(crate) fn unconfirmed(&self) {
        if let Some(counted) = &self.0 {
            caught(RECORDER, || counted.site.unconfirmed.increment(1));
        }
    }
}
