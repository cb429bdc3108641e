//! Callers that wait and hold, counted while they do.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::error::{ExtendError, LeaseEnd};
use redlock_core::lease::ObserveExtensions;

use super::{Gauged, figure, gauged};

/// A held lease, counted until it ends.
pub(crate) struct Holding {
    labels: Labels,
    /// The time for which the lease was held before.
    before: Duration,
    _held: Gauged,
}

/// The site and the kind of lock.
#[derive(Clone, Copy)]
struct Labels(&'static str, &'static str);

impl Holding {
    /// Begins for a lease that the site `site` has held for `before`.
    pub(super) fn begin(site: &'static str, lease: &redlock_core::Lease, before: Duration) -> Self {
        let kind = lease.kind().label();
        let labels = Labels(site, kind);
        if cfg!(feature = "metrics") {
            lease.observe_extensions(Arc::new(labels));
        }
        Self {
            labels,
            before,
            _held: gauged!(HELD {
                site: site,
                kind: kind
            }),
        }
    }

    /// Its holder is done; to be called before it is released.
    pub(crate) fn ended(self, lease: &redlock_core::Lease) {
        let Labels(site, kind) = self.labels;
        let held = lease.held_for().saturating_sub(self.before);
        figure!(histogram HOLD { site: site, kind: kind } record(held));
        if let Some(over) = lease.over().filter(|it| *it != LeaseEnd::Released) {
            let reason = over.as_str();
            figure!(counter LOST { site: site, kind: kind, reason: reason } increment(1));
        }
    }
}

impl ObserveExtensions for Labels {
    fn extended(&self, outcome: Result<(), &ExtendError>) {
        let Self(site, kind) = *self;
        let outcome = match outcome {
            Ok(()) => "extended",
            Err(ExtendError::Unavailable(_)) => "unavailable",
            // The holder dropped it in between.
            Err(ExtendError::Ended(LeaseEnd::Released)) => return,
            Err(_) => "lost",
        };
        figure!(counter EXTENSIONS { site: site, kind: kind, outcome: outcome } increment(1));
    }
}
