//! The journal of calls, for the kit for users' tests. Only a registry of the kit has one.

use std::sync::Arc;

use redlock_core::error::LeaseEnd;
use redlock_core::{LeaseHandle, NodeSet, Request, Resource};

use crate::error::LockError;
use crate::site::Site;

/// Has a line for each acquisition, by its number.
pub(crate) trait Journal: Send + Sync {
    /// A call asks for its lock; `is_shared` if a caller's lease may serve it. Returns the number
    /// of its line.
    fn begin(
        &self,
        site: &'static Site,
        request: &Request,
        nodes: &NodeSet,
        is_shared: bool,
    ) -> usize;

    /// A call was refused before anything of it was decided. It has no line yet.
    fn refuse(&self, site: &'static Site, resource: &Resource, error: &LockError);

    /// The acquisition got no lock.
    fn refused(&self, line: usize, error: &LockError);

    /// The acquisition got its lock.
    fn held(&self, line: usize, lease: &LeaseHandle);

    /// The lease is about to end; if it is over already, `over` has the reason. The line
    /// is closed once the release was sent.
    fn ends(&self, line: usize, over: Option<LeaseEnd>, is_cut_off: bool);

    /// The acquisition, and the lease that came of it, are over.
    fn close(&self, line: usize);
}

/// The journal of a registry's calls. Only a registry of the kit has one.
#[derive(Default)]
pub(crate) struct Recorder(Option<Arc<dyn Journal>>);

impl Recorder {
    #[cfg(feature = "testing")]
    pub(crate) fn new(journal: Arc<dyn Journal>) -> Self {
        Self(Some(journal))
    }

    pub(crate) fn begin(
        &self,
        site: &'static Site,
        request: &Request,
        nodes: &NodeSet,
        is_shared: bool,
    ) -> Record {
        let begin = |journal: &Arc<dyn Journal>| Place {
            journal: Arc::clone(journal),
            line: journal.begin(site, request, nodes, is_shared),
        };
        Record(self.0.as_ref().map(begin))
    }

    pub(crate) fn refused(&self, site: &'static Site, resource: &Resource, error: &LockError) {
        if let Some(journal) = &self.0 {
            journal.refuse(site, resource, error);
        }
    }
}

/// One acquisition's line, if there is a journal.
#[derive(Default)]
pub(crate) struct Record(Option<Place>);

struct Place {
    journal: Arc<dyn Journal>,
    line: usize,
}

impl Record {
    pub(crate) fn refused(&self, error: &LockError) {
        if let Some(place) = &self.0 {
            place.journal.refused(place.line, error);
        }
    }

    pub(crate) fn held(&self, lease: &LeaseHandle) {
        if let Some(place) = &self.0 {
            place.journal.held(place.line, lease);
        }
    }

    /// `over` is asked only if there is a journal: it reads a clock.
    pub(crate) fn ends(&self, over: impl FnOnce() -> Option<LeaseEnd>, is_cut_off: bool) {
        if let Some(place) = &self.0 {
            place.journal.ends(place.line, over(), is_cut_off);
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.journal.close(self.line);
    }
}
