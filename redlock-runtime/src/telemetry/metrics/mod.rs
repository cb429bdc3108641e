//! The figures, through the `metrics` facade. Labels name the site and the kind of lock, and never the
//! resource, as the number of resources has no limit.

mod describe;
mod holding;
mod kind;
mod nodes;
mod office;
mod per_recorder;
mod site;

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use metrics::counter;
use parking_lot::RwLock;
use redlock_core::env::caught;
use redlock_core::request::Kind;

use super::outcome::{AcquireOutcome, kind_of};
use crate::error::LockError;
use crate::site::{Registration, Site};

pub(crate) use holding::{Holding, Waiting};
use kind::PerKind;
pub(crate) use nodes::{answers_of, sample_nodes};
pub(crate) use office::InOffice;
use per_recorder::PerRecorder;
use site::SiteMetrics;

/// The recorder's name in the log, if it panics. It is foreign code, which runs in calls, in drops, and on
/// the library's thread.
const RECORDER: &str = "a metrics recorder";

/// The label of locks that no attribute describes. No path looks like it.
const OBJECT_STYLE: &str = "lock()";

/// The handles of one registry, made when a site is first called.
#[derive(Default)]
pub(crate) struct Metrics {
    sites: PerRecorder<Sites>,
}

/// The handles of one site, made for a kind of lock when the site first locks one.
type SiteSlots = PerKind<OnceLock<Arc<SiteMetrics>>>;

struct Sites {
    /// The handles by the address of the site, in order: a handle is found without a lock and without
    /// hashing a name.
    annotated: Box<[(usize, SiteSlots)]>,
    object_style: SiteSlots,
    /// The handles for names of the object style, by the address of the site.
    named: RwLock<BTreeMap<usize, Arc<SiteSlots>>>,
}

impl Metrics {
    /// Counts a caller that begins to wait for its lock.
    pub(crate) fn waiting(&self, site: Option<&'static Site>, kind: Kind) -> Waiting {
        Waiting::begin(caught(RECORDER, || self.of(site, kind)))
    }

    /// Describes the names to a recorder that was installed later.
    fn describe(&self) {
        self.sites.get(Sites::new);
    }

    fn of(&self, site: Option<&'static Site>, kind: Kind) -> Arc<SiteMetrics> {
        let sites = self.sites.get(Sites::new);
        let of = |slots: &SiteSlots| {
            let (slot, kind) = slots.of(kind);
            Arc::clone(slot.get_or_init(|| Arc::new(SiteMetrics::new(site, kind))))
        };
        let Some(site) = site else {
            return of(&sites.object_style);
        };
        let place = |(other, _): &(usize, _)| *other;
        match sites.annotated.binary_search_by_key(&site.address(), place) {
            Ok(found) => of(&sites.annotated[found].1),
            Err(_) => of(&sites.of_name(site)),
        }
    }
}

impl Sites {
    fn new() -> Self {
        describe::all();
        let registered = inventory::iter::<Registration>();
        let mut addresses: Vec<usize> = registered.into_iter().map(|it| it.0.address()).collect();
        addresses.sort_unstable();
        let slots = addresses.into_iter().map(|it| (it, SiteSlots::default()));
        Self {
            annotated: slots.collect(),
            object_style: SiteSlots::default(),
            named: RwLock::default(),
        }
    }

    /// The handles of a name of the object style, which is in no list of sites.
    ///
    /// They are filled outside of the map's lock: that runs the recorder's code.
    fn of_name(&self, site: &'static Site) -> Arc<SiteSlots> {
        if let Some(found) = self.named.read().get(&site.address()) {
            return Arc::clone(found);
        }
        Arc::clone(self.named.write().entry(site.address()).or_default())
    }
}

fn label(site: Option<&'static Site>) -> String {
    site.map_or(OBJECT_STYLE, Site::site_name).to_owned()
}

/// Counts a call that was refused before it began to wait, for a mistake in the program. The kind of its
/// lock was not decided.
pub(crate) fn count_refusal(site: Option<&'static Site>, outcome: AcquireOutcome) {
    caught(RECORDER, || {
        let (site, outcome) = (label(site), outcome.name());
        counter!(describe::ACQUISITIONS, "site" => site, "outcome" => outcome).increment(1);
    });
}

/// Counts an error that the function's type had no room for.
pub(crate) fn count_swallowed(error: &LockError) {
    let kind = kind_of(error);
    caught(RECORDER, || {
        counter!(describe::SWALLOWED, "site" => label(error.site()), "error_type" => kind)
            .increment(1);
    });
}
