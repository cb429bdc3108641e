//! What is counted of the terms of an election.

use std::time::Duration;

use metrics::{Gauge, Histogram, counter, gauge, histogram};
use redlock_core::env::caught;

use super::describe::{LEADING, TERM, TERMS};
use super::{Metrics, RECORDER};
use crate::site::Site;

/// A term, counted until it ends.
pub(crate) struct InOffice {
    /// `None` if the recorder panicked.
    handles: Option<(Gauge, Histogram)>,
}

impl Metrics {
    /// A candidate stands: its figures are there as zeros, so that a rate sees its first term.
    pub(crate) fn stands(&self, site: &'static Site) {
        caught(RECORDER, || {
            self.sites();
            let label = site.site_name();
            gauge!(LEADING, "site" => label).increment(0);
            counter!(TERMS, "site" => label).increment(0);
        });
    }
}

impl InOffice {
    /// A term begins.
    pub(crate) fn begin(site: &'static Site) -> Self {
        let begin = || {
            let label = site.site_name();
            let leading = gauge!(LEADING, "site" => label);
            leading.increment(1);
            counter!(TERMS, "site" => label).increment(1);
            (leading, histogram!(TERM, "site" => label))
        };
        Self {
            handles: caught(RECORDER, begin),
        }
    }

    /// The term has ended.
    pub(crate) fn ended(&self, length: Duration) {
        if let Some((leading, lengths)) = &self.handles {
            caught(RECORDER, || {
                leading.decrement(1);
                lengths.record(length);
            });
        }
    }
}
