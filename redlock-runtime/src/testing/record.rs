//! The journal of what calls did.

use std::time::Duration;

use parking_lot::Mutex;
use redlock_core::error::LeaseEnd;
use redlock_core::{LeaseHandle, NodeSet, Request, Resource};
use tokio::sync::Notify;

use super::acquisition::{Acquisition, Outcome};
use crate::error::LockError;
use crate::registry::pools::names_of;
use crate::registry::record;
use crate::site::Site;

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

    /// Returns its index.
    fn add(&self, acquisition: Acquisition) -> usize {
        let index = {
            let mut lines = self.lines.lock();
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

    fn change(&self, line: usize, change: impl FnOnce(&mut Line)) {
        if let Some(line) = self.lines.lock().get_mut(line) {
            change(line);
        }
        self.changed.notify_waiters();
    }
}

impl record::Journal for Journal {
    fn begin(
        &self,
        site: &'static Site,
        request: &Request,
        nodes: &NodeSet,
        is_shared: bool,
    ) -> usize {
        self.add(Acquisition {
            resource: request.resource.clone(),
            site,
            pools: names_of(nodes),
            ttl: request.ttl,
            is_shared,
            fencing_token: None,
            outcome: Outcome::Waiting,
        })
    }

    fn refuse(&self, site: &'static Site, resource: &Resource, error: &LockError) {
        self.add(Acquisition {
            resource: resource.clone(),
            site,
            pools: Vec::new(),
            ttl: Duration::ZERO,
            is_shared: false,
            fencing_token: None,
            outcome: Outcome::Refused(error.clone()),
        });
    }

    fn refused(&self, line: usize, error: &LockError) {
        self.change(line, |line| {
            line.acquisition.outcome = Outcome::Refused(error.clone());
        });
    }

    fn held(&self, line: usize, lease: &LeaseHandle) {
        self.change(line, |line| {
            line.acquisition.outcome = Outcome::Held;
            line.acquisition.fencing_token = lease.fencing_token();
            line.lease = Some(lease.clone());
        });
    }

    fn ends(&self, line: usize, over: Option<LeaseEnd>, is_cut_off: bool) {
        if let Some(line) = self.lines.lock().get_mut(line) {
            line.ending = Some(match over {
                Some(over) => Outcome::Lost(over),
                None if is_cut_off => Outcome::CutOff,
                None => Outcome::Released,
            });
        }
    }

    fn close(&self, line: usize) {
        // Dropped outside of the lock: the last handle of a lease may send its release.
        let mut _lease = None;
        self.change(line, |line| {
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
