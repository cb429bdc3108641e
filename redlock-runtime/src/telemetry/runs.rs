//! The last run of each job that runs once a period.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use redlock_core::Resource;
use redlock_core::env::{Clock, Moment};
use redlock_core::error::LastRun;

use crate::site::Site;

/// The last run of a function with `once_per`, as far as this process knows: it ran itself, or one of its
/// calls was told of a run.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// # let _entered = redlock.registry().enter();
/// for report in redlock.registry().sites() {
///     if let Some(run) = report.last_run {
///         println!("{} ran by {}, next in {:?}", report.site, run.by, run.next_in);
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct JobRun {
    /// The `host/pid` of the process that ran, this one included.
    pub by: String,
    /// When the run began, by the clock of that process; `None` if the nodes' record does not say.
    pub began: Option<SystemTime>,
    /// What was locked for the run.
    pub resource: Resource,
    /// The time until the job may run again; zero if it may.
    pub next_in: Duration,
    /// The calls of this process that were not run because of this run.
    pub calls_not_run: u64,
}

/// The runs that one registry knows of.
pub(crate) struct Runs {
    clock: Arc<dyn Clock>,
    /// `host/pid` of this process.
    owner: String,
    /// By the address of the site.
    sites: Mutex<BTreeMap<usize, Known>>,
}

struct Known {
    by: String,
    began: Option<SystemTime>,
    resource: Resource,
    next: Moment,
    calls_not_run: u64,
}

impl Known {
    fn is_same_run(&self, other: &Self) -> bool {
        (&self.resource, &self.by, self.began) == (&other.resource, &other.by, other.began)
    }
}

impl Runs {
    pub(crate) fn new(clock: Arc<dyn Clock>, owner: String) -> Self {
        Self {
            clock,
            owner,
            sites: Mutex::default(),
        }
    }

    /// A call of `site` has run. The nodes remember the run for `next_in`.
    pub(crate) fn ran(
        &self,
        site: &'static Site,
        resource: &Resource,
        began: SystemTime,
        next_in: Duration,
    ) {
        let run = Known {
            by: self.owner.clone(),
            began: Some(began),
            resource: resource.clone(),
            next: self.clock.now().saturating_add(next_in),
            calls_not_run: 0,
        };
        self.sites.lock().insert(site.address(), run);
    }

    /// A call of `site` was not run, because of the run `last`.
    pub(crate) fn not_run(&self, site: &'static Site, resource: &Resource, last: &LastRun) {
        let by = last.owner.as_deref().unwrap_or("another client");
        let mut run = Known {
            by: by.to_owned(),
            began: last.began,
            resource: resource.clone(),
            next: self.clock.now().saturating_add(last.next_in),
            calls_not_run: 1,
        };
        let mut sites = self.sites.lock();
        let known = sites.get(&site.address());
        run.calls_not_run += known
            .filter(|known| known.is_same_run(&run))
            .map_or(0, |known| known.calls_not_run);
        sites.insert(site.address(), run);
    }

    pub(crate) fn of(&self, site: &'static Site) -> Option<JobRun> {
        let now = self.clock.now();
        let sites = self.sites.lock();
        sites.get(&site.address()).map(|run| JobRun {
            by: run.by.clone(),
            began: run.began,
            resource: run.resource.clone(),
            next_in: run.next.saturating_since(now),
            calls_not_run: run.calls_not_run,
        })
    }
}
