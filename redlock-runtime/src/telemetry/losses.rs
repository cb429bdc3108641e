//! The last leases that were lost.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use redlock_core::Resource;
use redlock_core::env::{Clock, Moment};
use redlock_core::error::LeaseEnd;

use crate::site::Site;

/// The most losses that are remembered. The oldest are forgotten first.
pub(crate) const MOST_LOSSES: usize = 32;

/// A lease that was over before its holder was done.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// # let _entered = redlock.registry().enter();
/// for loss in redlock.registry().lost() {
///     println!("{} {:?} ago: {}", loss.resource, loss.ago, loss.reason);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Loss {
    /// What was locked.
    pub resource: Resource,
    /// The annotated function, or `None` for the object style without a name.
    pub site: Option<&'static Site>,
    /// Why the lease was over.
    pub reason: LeaseEnd,
    /// The time since its holder left it.
    pub ago: Duration,
}

/// The last losses of one registry.
pub(crate) struct Losses {
    clock: Arc<dyn Clock>,
    lost: Mutex<VecDeque<Lost>>,
}

struct Lost {
    resource: Resource,
    site: Option<&'static Site>,
    reason: LeaseEnd,
    at: Moment,
}

impl Losses {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            lost: Mutex::default(),
        }
    }

    /// The holder of a lease that is `over` leaves it. A lease that its holder or a shutdown ended is not
    /// lost.
    pub(crate) fn record(
        &self,
        site: Option<&'static Site>,
        resource: &Resource,
        over: Option<&LeaseEnd>,
    ) {
        use LeaseEnd::{Released, Revoked, Transferred};
        let Some(reason) = over.filter(|it| !matches!(it, Released | Revoked | Transferred)) else {
            return;
        };
        let lost = Lost {
            resource: resource.clone(),
            site,
            reason: reason.clone(),
            at: self.clock.now(),
        };
        let mut all = self.lost.lock();
        if all.len() == MOST_LOSSES {
            all.pop_front();
        }
        all.push_back(lost);
    }

    /// The last ones first.
    pub(crate) fn list(&self) -> Vec<Loss> {
        let now = self.clock.now();
        let all = self.lost.lock();
        let losses = all.iter().rev().map(|lost| Loss {
            resource: lost.resource.clone(),
            site: lost.site,
            reason: lost.reason.clone(),
            ago: now.saturating_since(lost.at),
        });
        losses.collect()
    }
}

#[cfg(test)]
mod tests {
    use redlock_core::IoThread;

    use super::*;

    #[test]
    fn the_last_losses_are_remembered_and_no_more() {
        let losses = Losses::new(IoThread::start().unwrap().environment().clock);
        for number in 0..100 {
            let resource = Resource::from(format!("order:{number}"));
            losses.record(None, &resource, Some(&LeaseEnd::Expired));
            for over in [None, Some(&LeaseEnd::Released), Some(&LeaseEnd::Revoked)] {
                losses.record(None, &Resource::from("not lost"), over);
            }
        }
        let lost: Vec<_> = losses.list().into_iter().map(|it| it.resource).collect();
        assert_eq!(lost.len(), MOST_LOSSES);
        assert_eq!(lost[0], Resource::from("order:99"));
        assert_eq!(lost[31], Resource::from("order:68"));
    }
}
