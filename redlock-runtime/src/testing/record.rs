//! The journal of what calls did.

use std::sync::Arc;

use parking_lot::Mutex;
use redlock_core::error::LeaseEnd;
use redlock_core::{LeaseHandle, NodeSet, Request, Resource};
use tokio::sync::Notify;

use super::acquisition::{Acquisition, Outcome};
use crate::error::LockError;
use crate::registry::pools::pool_names_of;
use crate::site::Site;
use crate::telemetry::{self, JournalLine};

/// Every acquisition of one registry, in the order in which they began.
#[derive(Default)]
pub(super) struct Journal {
    lines: Mutex<Vec<Line>>,
    /// Tells the callers of `until_…` that a line has changed.
    pub(super) changed: Notify,
}

struct Line {
    acquisition: Acquisition,
    /// While it is held.
    lease: Option<LeaseHandle>,
    /// The outcome once the release has been sent.
    ending: Option<Outcome>,
}

impl Journal {
    pub(super) fn acquisitions(&self) -> Vec<Acquisition> {
        let lines = self.lines.lock();
        let acquisitions = lines.iter().map(|line| &line.acquisition);
        acquisitions.cloned().collect()
    }

    /// The leases that are held now.
    pub(super) fn leases(&self) -> Vec<LeaseHandle> {
        let lines = self.lines.lock();
        let leases = lines.iter().filter_map(|line| line.lease.as_ref());
        leases.cloned().collect()
    }
}

/// The place of one acquisition in the journal.
struct Place {
    journal: Arc<Journal>,
    line: usize,
}

impl Place {
    fn change(&self, change: impl FnOnce(&mut Line)) {
        if let Some(line) = self.journal.lines.lock().get_mut(self.line) {
            change(line);
        }
        self.journal.changed.notify_waiters();
    }
}

impl telemetry::Journal for Journal {
    fn begin(
        self: Arc<Self>,
        site: &'static Site,
        resource: &Resource,
        asked: Option<(&Request, &NodeSet, bool)>,
    ) -> Box<dyn JournalLine> {
        let acquisition = Acquisition {
            resource: resource.clone(),
            site,
            pools: asked.map_or_else(Vec::new, |(_, nodes, _)| pool_names_of(nodes)),
            ttl: asked.map_or_else(Default::default, |(request, _, _)| request.ttl),
            is_shared: asked.is_some_and(|(_, _, is_shared)| is_shared),
            fencing_token: None,
            outcome: Outcome::Waiting,
        };
        let line = {
            let mut lines = self.lines.lock();
            lines.push(Line {
                acquisition,
                lease: None,
                ending: None,
            });
            lines.len() - 1
        };
        self.changed.notify_waiters();
        Box::new(Place {
            journal: self,
            line,
        })
    }
}

impl JournalLine for Place {
    fn refused(&self, error: &LockError) {
        self.change(|line| {
            line.acquisition.outcome = Outcome::Refused(error.clone());
        });
    }

    fn held(&self, lease: &LeaseHandle) {
        self.change(|line| {
            line.acquisition.outcome = Outcome::Held;
            line.acquisition.fencing_token = lease.fencing_token();
            line.lease = Some(lease.clone());
        });
    }

    fn ends(&self, over: Option<LeaseEnd>, is_cut_off: bool) {
        if let Some(line) = self.journal.lines.lock().get_mut(self.line) {
            line.ending = Some(match over {
                Some(over) => Outcome::Lost(over),
                None if is_cut_off => Outcome::CutOff,
                None => Outcome::Released,
            });
        }
    }
}

impl Drop for Place {
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
                Outcome::Waiting => line.acquisition.outcome = Outcome::Dropped,
                _ => {}
            }
        });
    }
}
