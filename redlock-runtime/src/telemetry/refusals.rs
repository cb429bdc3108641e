//! The refused calls of the last minutes, by holder.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redlock_core::Resource;
use redlock_core::env::{Clock, Moment};

use crate::error::LockError;
use crate::site::Site;

/// Refusals are told for this time, and for up to twice as long.
const WINDOW: Duration = Duration::from_secs(5 * 60);

/// The most holders of a site and window that are told by name.
const MOST_HOLDERS: usize = 8;

/// The refusals of a function's calls by one holder in the last 5 to 10 minutes.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// # let _entered = redlock.registry().enter();
/// for report in redlock.registry().sites() {
///     for refusal in report.refused {
///         println!("{} refused {} times by {}", report.site, refusal.count, refusal.by);
///     }
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Refusal {
    /// The holder: `host/pid` of another process, or a function of this process; `readers` of other
    /// processes, which nobody names. `others` are those beyond the first eight.
    pub by: String,
    /// The number of calls that were refused.
    pub count: u64,
    /// The longest time that one of them waited.
    pub longest_wait: Duration,
    /// The time since the last of them.
    pub ago: Duration,
    /// The resource that the last of them wanted.
    pub resource: Resource,
}

/// The refusals of one registry.
pub(crate) struct Refusals {
    clock: Arc<dyn Clock>,
    /// By the address of the site; `None` for the object style without a name.
    sites: Mutex<BTreeMap<Option<usize>, OfSite>>,
}

struct OfSite {
    /// The beginning of the present window.
    began: Moment,
    present: Vec<Counted>,
    previous: Vec<Counted>,
}

struct Counted {
    by: String,
    count: u64,
    longest_wait: Duration,
    last: Moment,
    resource: Resource,
}

impl Refusals {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            sites: Mutex::default(),
        }
    }

    /// Counts a call that was refused because another holder has the lock.
    pub(crate) fn record(
        &self,
        site: Option<&'static Site>,
        resource: &Resource,
        error: &LockError,
    ) {
        let by = error.refused_by();
        let waited = error.effort().map_or(Duration::ZERO, |(_, waited)| waited);
        let now = self.clock.now();
        let mut sites = self.sites.lock();
        let of_site = sites.entry(site.map(Site::address));
        let of_site = of_site.or_insert_with(|| OfSite::new(now));
        of_site.turn(now);
        of_site.count(&by, resource, waited, now);
    }

    /// The refusals of the calls of `site`, or of the locks without a name in the object style. The last
    /// ones come first.
    pub(crate) fn of(&self, site: Option<&'static Site>) -> Vec<Refusal> {
        let now = self.clock.now();
        let mut sites = self.sites.lock();
        let of_site = sites.get_mut(&site.map(Site::address));
        of_site.map_or_else(Vec::new, |of_site| {
            of_site.turn(now);
            of_site.refusals(now)
        })
    }
}

impl OfSite {
    fn new(now: Moment) -> Self {
        Self {
            began: now,
            present: Vec::new(),
            previous: Vec::new(),
        }
    }

    /// Begins the window of `now`.
    fn turn(&mut self, now: Moment) {
        let age = now.saturating_since(self.began);
        if age < WINDOW {
            return;
        }
        self.previous = std::mem::take(&mut self.present);
        self.began = self.began.saturating_add(WINDOW);
        if age >= 2 * WINDOW {
            self.previous.clear();
            self.began = now;
        }
    }

    fn count(&mut self, by: &str, resource: &Resource, waited: Duration, now: Moment) {
        let is_known = self.present.iter().any(|it| it.by == by);
        let has_room = is_known || self.present.len() < MOST_HOLDERS;
        let one = Counted {
            by: if has_room { by } else { "others" }.to_owned(),
            count: 1,
            longest_wait: waited,
            last: now,
            resource: resource.clone(),
        };
        add(&mut self.present, one);
    }

    fn refusals(&self, now: Moment) -> Vec<Refusal> {
        let mut all = Vec::new();
        for counted in self.previous.iter().chain(&self.present) {
            let counted = Counted {
                by: counted.by.clone(),
                resource: counted.resource.clone(),
                ..*counted
            };
            add(&mut all, counted);
        }
        all.sort_by_key(|counted| std::cmp::Reverse(counted.last));
        let refusals = all.into_iter().map(|counted| Refusal {
            by: counted.by,
            count: counted.count,
            longest_wait: counted.longest_wait,
            ago: now.saturating_since(counted.last),
            resource: counted.resource,
        });
        refusals.collect()
    }
}

/// Adds later refusals to those of the same holder.
fn add(all: &mut Vec<Counted>, later: Counted) {
    match all.iter_mut().find(|it| it.by == later.by) {
        None => all.push(later),
        Some(known) => {
            known.count += later.count;
            known.longest_wait = known.longest_wait.max(later.longest_wait);
            known.last = later.last;
            known.resource = later.resource;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_by_holder_and_forgotten_after_some_minutes() {
        let minute = |n: u64| Moment::from_origin(Duration::from_secs(60 * n));
        let mut of_site = OfSite::new(minute(0));
        let mut count = |at, by: &str, waited| {
            of_site.turn(minute(at));
            let waited = Duration::from_millis(waited);
            of_site.count(by, &Resource::from("r"), waited, minute(at));
        };
        count(0, "web-1/1", 10);
        count(1, "web-2/2", 30);
        count(6, "web-1/1", 5);
        let shown = |refusals: Vec<Refusal>| -> Vec<_> {
            let parts = |it: Refusal| {
                (
                    it.by,
                    it.count,
                    it.longest_wait.as_millis(),
                    it.ago.as_secs(),
                )
            };
            refusals.into_iter().map(parts).collect()
        };
        let expected = [
            ("web-1/1".to_owned(), 2, 10, 0),
            ("web-2/2".to_owned(), 1, 30, 300),
        ];
        assert_eq!(shown(of_site.refusals(minute(6))), expected);
        of_site.turn(minute(11));
        let left = shown(of_site.refusals(minute(11)));
        assert_eq!(left, [("web-1/1".to_owned(), 1, 5, 300)]);
        of_site.turn(minute(30));
        assert!(of_site.refusals(minute(30)).is_empty());
    }

    #[test]
    fn many_holders_take_no_more_memory_than_a_few() {
        let now = Moment::from_origin(Duration::ZERO);
        let mut of_site = OfSite::new(now);
        for n in 0..1000 {
            let by = format!("web/{n}");
            of_site.count(&by, &Resource::from("r"), Duration::ZERO, now);
        }
        let refusals = of_site.refusals(now);
        assert_eq!(refusals.len(), MOST_HOLDERS + 1);
        assert_eq!(refusals.iter().map(|it| it.count).sum::<u64>(), 1000);
    }
}
