//! What is counted of one site's calls.

use std::sync::Arc;
use std::time::Duration;

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use redlock_core::env::caught;
use redlock_core::error::{ExtendError, LeaseEnd};
use redlock_core::lease::ObserveExtensions;

use super::super::outcome::AcquireOutcome;
use super::describe::{
    ACQUISITIONS, EXTENSIONS, HELD, HOLD, LOST, SWALLOWED, UNCONFIRMED, WAIT, WAITING,
};
use super::{RECORDER, label};
use crate::site::Site;

/// The outcomes of calls that ask the nodes. They are there as zeros from a site's first call on, so that
/// a rate sees the first of each.
const OUTCOMES: [AcquireOutcome; 10] = [
    AcquireOutcome::Acquired,
    AcquireOutcome::Joined,
    AcquireOutcome::Contended,
    AcquireOutcome::Skipped,
    AcquireOutcome::AlreadyRun,
    AcquireOutcome::Spent,
    AcquireOutcome::Unavailable,
    AcquireOutcome::Lost,
    AcquireOutcome::ShuttingDown,
    AcquireOutcome::Cancelled,
];

/// The reasons why a lease is over before its holder is done, as [`LeaseEnd::as_str`] has them.
const REASONS: [&str; 7] = [
    "expired",
    "not_renewed",
    "max_hold",
    "stood_still",
    "taken",
    "forgotten",
    "revoked",
];

/// The handles of one site, for one kind of lock.
pub(super) struct SiteMetrics {
    label: String,
    /// The value of the label `kind`.
    kind: &'static str,
    /// As `OUTCOMES`.
    acquisitions: [Counter; OUTCOMES.len()],
    /// As `REASONS`.
    lost: [Counter; REASONS.len()],
    extended: Counter,
    extension_unavailable: Counter,
    extension_lost: Counter,
    unconfirmed: Counter,
    wait: Histogram,
    waiting: Gauge,
    hold: Histogram,
    held: Gauge,
}

fn acquisitions(label: &str, kind: &'static str, outcome: AcquireOutcome) -> Counter {
    let site = label.to_owned();
    counter!(ACQUISITIONS, "site" => site, "kind" => kind, "outcome" => outcome.name())
}

impl SiteMetrics {
    /// `kind` is the value of its label.
    pub(super) fn new(site: Option<&'static Site>, kind: &'static str) -> Self {
        let label = label(site);
        if site.is_some_and(|site| site.skips) {
            // Zeros, as above.
            for error in [AcquireOutcome::Unavailable, AcquireOutcome::Lost] {
                let name = error.name();
                counter!(SWALLOWED, "site" => label.clone(), "error_type" => name).increment(0);
            }
        }
        let extensions = |outcome| counter!(EXTENSIONS, "site" => label.clone(), "kind" => kind, "outcome" => outcome);
        let lost =
            |reason| counter!(LOST, "site" => label.clone(), "kind" => kind, "reason" => reason);
        Self {
            acquisitions: OUTCOMES.map(|outcome| acquisitions(&label, kind, outcome)),
            lost: REASONS.map(lost),
            extended: extensions("extended"),
            extension_unavailable: extensions("unavailable"),
            extension_lost: extensions("lost"),
            unconfirmed: counter!(UNCONFIRMED, "site" => label.clone(), "kind" => kind),
            wait: histogram!(WAIT, "site" => label.clone(), "kind" => kind),
            waiting: gauge!(WAITING, "site" => label.clone(), "kind" => kind),
            hold: histogram!(HOLD, "site" => label.clone(), "kind" => kind),
            held: gauge!(HELD, "site" => label.clone(), "kind" => kind),
            kind,
            label,
        }
    }

    fn count(&self, outcome: AcquireOutcome) {
        match OUTCOMES.iter().position(|it| *it == outcome) {
            Some(place) => self.acquisitions[place].increment(1),
            // Too rare to keep a handle for.
            None => acquisitions(&self.label, self.kind, outcome).increment(1),
        }
    }
}

impl ObserveExtensions for SiteMetrics {
    fn extended(&self, outcome: Result<(), &ExtendError>) {
        let counter = match outcome {
            Ok(()) => &self.extended,
            Err(ExtendError::Unavailable(_)) => &self.extension_unavailable,
            // The holder dropped it in between.
            Err(ExtendError::Ended(LeaseEnd::Released)) => return,
            Err(_) => &self.extension_lost,
        };
        counter.increment(1);
    }
}

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
        self.holding(AcquireOutcome::Acquired, lease, Duration::ZERO)
    }

    pub(crate) fn joined(&mut self, lease: &redlock_core::Lease) -> Holding {
        // The lock was held before this call came.
        self.holding(AcquireOutcome::Joined, lease, lease.held_for())
    }

    fn holding(
        &mut self,
        outcome: AcquireOutcome,
        lease: &redlock_core::Lease,
        before: Duration,
    ) -> Holding {
        let site = self.end(outcome);
        if let Some(site) = &site {
            caught(RECORDER, || site.held.increment(1));
            lease.observe_extensions(Arc::clone(site) as _);
        }
        Holding { site, before }
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
pub(crate) struct Holding {
    site: Option<Arc<SiteMetrics>>,
    /// The time for which other callers held the lease before.
    before: Duration,
}

impl Holding {
    /// Its holder is done; to be called before it is released.
    pub(crate) fn ended(&self, lease: &redlock_core::Lease) {
        let Some(site) = &self.site else { return };
        caught(RECORDER, || {
            site.held.decrement(1);
            site.hold
                .record(lease.held_for().saturating_sub(self.before));
            let over = lease.over();
            let reason = over.as_ref().map(LeaseEnd::as_str);
            if let Some(place) = REASONS.iter().position(|it| Some(*it) == reason) {
                site.lost[place].increment(1);
            }
        });
    }

    /// No majority confirmed the release in time.
    pub(crate) fn unconfirmed(&self) {
        if let Some(site) = &self.site {
            caught(RECORDER, || site.unconfirmed.increment(1));
        }
    }
}
