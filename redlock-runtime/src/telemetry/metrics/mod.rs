//! The figures, through the `metrics` facade. Labels name the site and the kind of lock, and never the
//! resource, as the number of resources has no limit.

mod describe;
mod holding;
mod nodes;
mod office;
mod per_recorder;
mod site;

use std::collections::BTreeMap;
use std::sync::Arc;

use metrics::counter;
use parking_lot::RwLock;
use redlock_core::env::caught;
use redlock_core::request::Kind;

use super::outcome::{AcquireOutcome, kind_of};
use crate::error::LockError;
use crate::site::Site;

pub(crate) use holding::{Holding, Waiting};
pub(crate) use nodes::{answers_of, sample_nodes};
pub(crate) use office::InOffice;
use per_recorder::PerRecorder;
use site::SiteMetrics;

/// The recorder's name in the log, if it panics. It is foreign code, which runs in calls, in drops, and on
/// the library's thread.
const RECORDER: &str = "a metrics recorder";

/// The handles of one registry.
#[derive(Default)]
pub(crate) struct Metrics {
    sites: PerRecorder<Sites>,
}

/// The handles by the address of the site and the label of the kind of lock. They are made when the site first
/// locks a lock of the kind.
type Sites = RwLock<BTreeMap<(usize, &'static str), Arc<SiteMetrics>>>;

impl Metrics {
    /// Counts a caller that begins to wait for its lock.
    pub(crate) fn waiting(&self, site: &'static Site, kind: Kind) -> Waiting {
        Waiting::begin(caught(RECORDER, || self.of(site, kind)))
    }

    /// The handles for the recorder of the moment. Describes the names to a recorder that is new.
    fn sites(&self) -> &Sites {
        self.sites.get(|| {
            describe::all();
            Sites::default()
        })
    }

    fn of(&self, site: &'static Site, kind: Kind) -> Arc<SiteMetrics> {
        let (sites, kind) = (self.sites(), kind.label());
        let key = (site.address(), kind);
        if let Some(found) = sites.read().get(&key) {
            return Arc::clone(found);
        }
        // Outside of the map's lock: this runs the recorder's code.
        let made = Arc::new(SiteMetrics::new(site, kind));
        Arc::clone(
            sites
                .write()
                .entry(key)
                .or_insert_with(|| Arc::clone(&made)),
        )
    }
}

/// Counts a call that was refused before it began to wait, for a mistake in the program. The kind of its
/// lock was not decided.
pub(crate) fn count_refusal(site: &'static Site, outcome: AcquireOutcome) {
    caught(RECORDER, || {
        let (site, outcome) = (site.site_name(), outcome.name());
        counter!(describe::ACQUISITIONS, "site" => site, "outcome" => outcome).increment(1);
    });
}

/// Counts an error that the function's type had no room for.
pub(crate) fn count_swallowed(error: &LockError) {
    let kind = kind_of(error);
    caught(RECORDER, || {
        counter!(describe::SWALLOWED, "site" => error.site().site_name(), "error_type" => kind)
            .increment(1);
    });
}
