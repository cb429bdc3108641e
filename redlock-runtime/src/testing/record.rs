//! The journal of what calls did.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redlock_core::{LeaseHandle, NodeSet, Over, Request, Resource};
use tokio::sync::Notify;

use super::acquisition::{Acquisition, Outcome};
use crate::error::LockError;
use crate::registry::site::Site;

/// Every acquisition of one registry, in the order in which they began.
#[derive(Default)]
pub(super) struct Journal {
    lines: Mutex<Vec<Line>>,
    /// Tells whoever waits in `until_…` that a line has changed.
    pub(super) changed: Notify,
}

struct Line {
    acquisition: Acquisition,
    /// While it is held.
    lease: Option<LeaseHandle>,
    /// What it comes to once the release is on its way.
    ending: Option<Outcome>,
}

impl Journal {
    pub(super) fn acquisitions(&self) -> Vec<Acquisition> {
        let lines = self.lock();
        let acquisitions = lines.iter().map(|line| &line.acquisition);
        acquisitions.cloned().collect()
    }

    /// The leases that are held now.
    pub(super) fn leases(&self) -> Vec<LeaseHandle> {
        let lines = self.lock();
        let leases = lines.iter().filter_map(|line| line.lease.as_ref());
        leases.cloned().collect()
    }

    /// Returns its index.
    fn add(&self, acquisition: Acquisition) -> usize {
        let index = {
            let mut lines = self.lock();
            lines.push(Line {
                acquisition,
                lease: None,
                ending: None,
            });
            lines.len() - 1
        };
        self.changed.notify_waiters();
        index
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Line>> {
        // No code that can panic runs under this lock.
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Where a registry's calls report to: nowhere, unless it is one of the kit's.
#[derive(Clone, Default)]
pub(crate) struct Recorder(Option<Arc<Journal>>);

impl Recorder {
    pub(super) fn new(journal: &Arc<Journal>) -> Self {
        Self(Some(Arc::clone(journal)))
    }

    /// A call asks for its lock; `is_shared` where a caller's lease may serve it.
    pub(crate) fn begin(
        &self,
        site: Option<&'static Site>,
        request: &Request,
        nodes: &NodeSet,
        is_shared: bool,
    ) -> Record {
        let begin = |journal: &Arc<Journal>| {
            let acquisition = Acquisition {
                resource: request.resource.clone(),
                site,
                pools: nodes.iter().map(|node| node.name().to_owned()).collect(),
                ttl: request.ttl,
                is_shared,
                fencing_token: None,
                outcome: Outcome::Waiting,
            };
            Box::new(Place {
                journal: Arc::clone(journal),
                index: journal.add(acquisition),
            })
        };
        Record(self.0.as_ref().map(begin))
    }

    /// A call was refused before anything of it was decided.
    pub(crate) fn refused(
        &self,
        site: Option<&'static Site>,
        resource: &Resource,
        error: &LockError,
    ) {
        if let Some(journal) = &self.0 {
            journal.add(Acquisition {
                resource: resource.clone(),
                site,
                pools: Vec::new(),
                ttl: Duration::ZERO,
                is_shared: false,
                fencing_token: None,
                outcome: Outcome::Refused(error.clone()),
            });
        }
    }
}

/// One acquisition's line. Dropping it says that it is over.
#[derive(Default)]
pub(crate) struct Record(Option<Box<Place>>);

struct Place {
    journal: Arc<Journal>,
    index: usize,
}

impl Record {
    pub(crate) fn refused(&self, error: &LockError) {
        self.change(|line| line.acquisition.outcome = Outcome::Refused(error.clone()));
    }

    pub(crate) fn held(&self, lease: &LeaseHandle) {
        self.change(|line| {
            line.acquisition.outcome = Outcome::Held;
            line.acquisition.fencing_token = lease.fencing_token();
            line.lease = Some(lease.clone());
        });
    }

    /// The lease is about to end, and is over already for the reason that `over` gives. Nobody hears of it
    /// before the release was sent, which is when this is dropped.
    pub(crate) fn ends(&self, over: impl FnOnce() -> Option<Over>, is_cut_off: bool) {
        if let Some(place) = &self.0
            && let over = over()
            && let Some(line) = place.journal.lock().get_mut(place.index)
        {
            line.ending = Some(match over {
                Some(over) => Outcome::Lost(over),
                None if is_cut_off => Outcome::CutOff,
                None => Outcome::Released,
            });
        }
    }

    fn change(&self, change: impl FnOnce(&mut Line)) {
        let Some(place) = &self.0 else { return };
        if let Some(line) = place.journal.lock().get_mut(place.index) {
            change(line);
        }
        place.journal.changed.notify_waiters();
    }
}

impl Drop for Record {
    fn drop(&mut self) {
        // Dropped outside of the lock: the last handle of a lease may send its release.
        let mut _lease = None;
        self.change(|line| {
            _lease = line.lease.take();
            let ending = line.ending.take();
            match line.acquisition.outcome {
                Outcome::Held => {
                    line.acquisition.outcome = ending.unwrap_or(Outcome::Released);
                }
                Outcome::Waiting => line.acquisition.outcome = Outcome::GaveUp,
                _ => {}
            }
        });
    }
}
