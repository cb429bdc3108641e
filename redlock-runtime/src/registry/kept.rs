//! Keys that a finished call left on the nodes on purpose.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use redlock_core::{LeaseHandle, NodeSet, Resource};

use super::held::{is_same_lock, others};
use crate::error::{HolderHere, Holds};
use crate::site::Site;

/// The most entries that are remembered. The oldest are forgotten first.
const MOST_KEPT: usize = 256;

/// Keys that a finished call left on the nodes on purpose.
///
/// ```
/// # use redlock_runtime::{Config, Redlock, lock};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
/// # let _entered = redlock.registry().enter();
/// let short = std::time::Duration::from_secs(10);
/// lock("order:42").min_hold(short).run(async {}).await?;
/// let kept = redlock.registry().kept();
/// assert_eq!(kept[0].parameter, "min_hold");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct KeptKeys {
    /// What is locked.
    pub resource: Resource,
    /// The annotated function, or `None` for the object style.
    pub site: Option<&'static Site>,
    /// What keeps the keys: the parameter `min_hold`, or `on_cancel` if the body was cut off.
    pub parameter: &'static str,
    /// For how much longer the keys stay.
    pub left: Duration,
    /// Until when the keys stay, by this host's wall clock.
    pub until: SystemTime,
}

/// The keys that the calls of one registry left.
#[derive(Debug, Default)]
pub(crate) struct KeptTable(Mutex<VecDeque<Kept>>);

#[derive(Clone, Debug)]
struct Kept {
    lease: LeaseHandle,
    site: Option<&'static Site>,
    parameter: &'static str,
}

impl KeptTable {
    /// The holder of `lease` is about to leave it, and may be the last one.
    pub(crate) fn add(
        &self,
        lease: LeaseHandle,
        site: Option<&'static Site>,
        parameter: &'static str,
    ) {
        let kept = Kept {
            lease,
            site,
            parameter,
        };
        // Dropped outside of the mutex: handles may be the last ones of their leases.
        let _oldest = {
            let mut table = self.0.lock();
            table.push_back(kept);
            (table.len() > MOST_KEPT).then(|| table.pop_front())
        };
    }

    pub(crate) fn list(&self) -> Vec<KeptKeys> {
        self.kept()
            .iter()
            .map(|(kept, left)| kept.describe(*left))
            .collect()
    }

    /// The finished call that left the keys of `resource`, if there is one.
    pub(crate) fn holder_of(&self, resource: &Resource, nodes: &NodeSet) -> Option<HolderHere> {
        let kept = self.kept();
        let mut same = kept
            .iter()
            .filter(|(kept, _)| is_same_lock(&kept.lease, resource, nodes));
        same.next().map(|(kept, _)| HolderHere {
            site: kept.site,
            others: others(&kept.lease, resource),
            how: Holds::Kept(kept.parameter),
        })
    }

    /// The entries whose keys still exist, with the time that is left. Removes the other entries.
    fn kept(&self) -> Vec<(Kept, Duration)> {
        let mut kept: Vec<(Kept, Duration)> = Vec::new();
        let mut table = self.0.lock();
        let is_there = |one: &Kept| one.lease.kept_for() != Some(Duration::ZERO);
        let all = std::mem::take(&mut *table);
        let (there, gone): (VecDeque<_>, VecDeque<_>) = all.into_iter().partition(is_there);
        for one in &there {
            // Several holders of one lease may have left it.
            let is_known = |(it, _): &(Kept, _)| it.lease.lock_id() == one.lease.lock_id();
            if let Some(left) = one.lease.kept_for().filter(|_| !kept.iter().any(is_known)) {
                kept.push((one.clone(), left));
            }
        }
        *table = there;
        drop(table);
        // Dropped outside of the mutex: these handles may be the last ones of their leases.
        drop(gone);
        kept
    }
}

impl Kept {
    fn describe(&self, left: Duration) -> KeptKeys {
        let now = SystemTime::now();
        KeptKeys {
            resource: self.lease.resource().clone(),
            site: self.site,
            parameter: self.parameter,
            left,
            until: now.checked_add(left).unwrap_or(now),
        }
    }
}
