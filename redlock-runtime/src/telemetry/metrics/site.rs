//! What is counted of one site's calls.

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use redlock_core::error::{ExtendError, LeaseEnd};
use redlock_core::lease::ObserveExtensions;

use super::super::outcome::AcquireOutcome;
use super::describe::{
    ACQUISITIONS, EXTENSIONS, HELD, HOLD, LOST, SWALLOWED, UNCONFIRMED, WAIT, WAITING,
};
use crate::site::Site;

/// The outcomes of calls that ask the nodes. They are there as zeros from a site's first call on, so that
/// a rate sees the first of each.
const OUTCOMES: [AcquireOutcome; 9] = [
    AcquireOutcome::Acquired,
    AcquireOutcome::Joined,
    AcquireOutcome::Contended,
    AcquireOutcome::Skipped,
    AcquireOutcome::AlreadyRun,
    AcquireOutcome::Unavailable,
    AcquireOutcome::Lost,
    AcquireOutcome::ShuttingDown,
    AcquireOutcome::Cancelled,
];

/// The reasons why a lease is over before its holder is done, as [`LeaseEnd::as_str`] has them.
pub(super) const REASONS: [&str; 7] = [
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
    label: &'static str,
    /// The value of the label `kind`.
    kind: &'static str,
    /// As `OUTCOMES`.
    acquisitions: [Counter; OUTCOMES.len()],
    /// As `REASONS`.
    pub(super) lost: [Counter; REASONS.len()],
    extended: Counter,
    extension_unavailable: Counter,
    extension_lost: Counter,
    pub(super) unconfirmed: Counter,
    pub(super) wait: Histogram,
    pub(super) waiting: Gauge,
    pub(super) hold: Histogram,
    pub(super) held: Gauge,
}

fn acquisitions(site: &'static str, kind: &'static str, outcome: AcquireOutcome) -> Counter {
    counter!(ACQUISITIONS, "site" => site, "kind" => kind, "outcome" => outcome.name())
}

impl SiteMetrics {
    /// `kind` is the value of its label.
    pub(super) fn new(site: &'static Site, kind: &'static str) -> Self {
        let label = site.site_name();
        if site.skips {
            // Zeros, as above.
            for error in [AcquireOutcome::Unavailable, AcquireOutcome::Lost] {
                let name = error.name();
                counter!(SWALLOWED, "site" => label, "error_type" => name).increment(0);
            }
        }
        let extensions =
            |outcome| counter!(EXTENSIONS, "site" => label, "kind" => kind, "outcome" => outcome);
        let lost = |reason| counter!(LOST, "site" => label, "kind" => kind, "reason" => reason);
        Self {
            acquisitions: OUTCOMES.map(|outcome| acquisitions(label, kind, outcome)),
            lost: REASONS.map(lost),
            extended: extensions("extended"),
            extension_unavailable: extensions("unavailable"),
            extension_lost: extensions("lost"),
            unconfirmed: counter!(UNCONFIRMED, "site" => label, "kind" => kind),
            wait: histogram!(WAIT, "site" => label, "kind" => kind),
            waiting: gauge!(WAITING, "site" => label, "kind" => kind),
            hold: histogram!(HOLD, "site" => label, "kind" => kind),
            held: gauge!(HELD, "site" => label, "kind" => kind),
            kind,
            label,
        }
    }

    pub(super) fn count(&self, outcome: AcquireOutcome) {
        match OUTCOMES.iter().position(|it| *it == outcome) {
            Some(place) => self.acquisitions[place].increment(1),
            // Too rare to keep a handle for.
            None => acquisitions(self.label, self.kind, outcome).increment(1),
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
