//! The journal of calls, for the kit for users' tests. Without the feature `testing` there is
//! no journal: the types are empty, and their functions do nothing.

#[cfg(feature = "testing")]
pub(crate) use kept::{Journal, Record, Recorder};
#[cfg(not(feature = "testing"))]
pub(crate) use nothing::{Record, Recorder};

#[cfg(feature = "testing")]
mod kept {
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
            site: Option<&'static Site>,
            request: &Request,
            nodes: &NodeSet,
            is_shared: bool,
        ) -> usize;

        /// A call was refused before anything of it was decided. It has no line yet.
        fn refuse(&self, site: Option<&'static Site>, resource: &Resource, error: &LockError);

        /// The acquisition got no lock.
        fn refused(&self, line: usize, error: &LockError);

        /// The acquisition got its lock.
        fn held(&self, line: usize, lease: &LeaseHandle);

        /// The lease is about to end; if it is over already, `over` has the reason. Nobody hears of it
        /// before the release was sent, which is when the line is closed.
        fn ends(&self, line: usize, over: Option<LeaseEnd>, is_cut_off: bool);

        /// The acquisition, and the lease that came of it, are over.
        fn close(&self, line: usize);
    }

    /// The journal of a registry's calls. Only a registry of the kit has one.
    #[derive(Default)]
    pub(crate) struct Recorder(Option<Arc<dyn Journal>>);

    impl Recorder {
        pub(crate) fn new(journal: Arc<dyn Journal>) -> Self {
            Self(Some(journal))
        }

        pub(crate) fn begin(
            &self,
            site: Option<&'static Site>,
            request: &Request,
            nodes: &NodeSet,
            is_shared: bool,
        ) -> Record {
            let begin = |journal: &Arc<dyn Journal>| {
                Box::new(Place {
                    journal: Arc::clone(journal),
                    line: journal.begin(site, request, nodes, is_shared),
                })
            };
            Record(self.0.as_ref().map(begin))
        }

        pub(crate) fn refused(
            &self,
            site: Option<&'static Site>,
            resource: &Resource,
            error: &LockError,
        ) {
            if let Some(journal) = &self.0 {
                journal.refuse(site, resource, error);
            }
        }
    }

    /// One acquisition's line, if there is a journal. It is part of an acquisition's future, and so no
    /// larger than a pointer.
    #[derive(Default)]
    pub(crate) struct Record(Option<Box<Place>>);

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
}

#[cfg(not(feature = "testing"))]
mod nothing {
    #![allow(clippy::unused_self, reason = "the other one uses it")]

    use redlock_core::error::LeaseEnd;
    use redlock_core::{LeaseHandle, NodeSet, Request, Resource};

    use crate::error::LockError;
    use crate::site::Site;

    #[derive(Default)]
    pub(crate) struct Recorder(());

    impl Recorder {
        pub(crate) fn begin(
            &self,
            _: Option<&'static Site>,
            _: &Request,
            _: &NodeSet,
            _: bool,
        ) -> Record {
            Record(())
        }

        pub(crate) fn refused(&self, _: Option<&'static Site>, _: &Resource, _: &LockError) {}
    }

    #[derive(Default)]
    pub(crate) struct Record(());

    impl Record {
        pub(crate) fn refused(&self, _: &LockError) {}

        pub(crate) fn held(&self, _: &LeaseHandle) {}

        pub(crate) fn ends(&self, _: impl FnOnce() -> Option<LeaseEnd>, _: bool) {}
    }
}
