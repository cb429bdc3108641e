//! What calls did, for the kit that users test with. Without the feature `testing` there is nothing
//! of it: the types are empty, and so is what they do.

#[cfg(feature = "testing")]
pub(crate) use crate::testing::record::{Record, Recorder};
#[cfg(not(feature = "testing"))]
pub(crate) use nothing::{Record, Recorder};

#[cfg(not(feature = "testing"))]
mod nothing {
    #![allow(clippy::unused_self, reason = "the other one uses it")]

    use redlock_core::{LeaseHandle, NodeSet, Over, Request, Resource};

    use crate::error::LockError;
    use crate::registry::site::Site;

    #[derive(Clone, Default)]
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

        /// Why it is over is asked only where somebody records it: that reads a clock.
        pub(crate) fn ends(&self, _: impl FnOnce() -> Option<Over>, _: bool) {}
    }
}
