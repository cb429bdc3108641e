//! The journal of calls, for the kit for users' tests. Only a registry of the kit has one.

use std::sync::Arc;

use redlock_core::error::LeaseEnd;
use redlock_core::{LeaseHandle, NodeSet, Request, Resource};

use crate::error::LockError;
use crate::site::Site;

/// Has a line for each acquisition.
pub(crate) trait Journal: Send + Sync {
    /// A call asks for its lock. `asked` is `None` if the call is refused before anything of it was decided. The flag
    /// is true if a caller's lease serves the call.
    fn begin(
        self: Arc<Self>,
        site: &'static Site,
        resource: &Resource,
        asked: Option<(&Request, &NodeSet, bool)>,
    ) -> Box<dyn JournalLine>;
}

/// One acquisition, and the lease that came of it. Its drop says that they are over.
pub(crate) trait JournalLine: Send + Sync {
    /// The acquisition got no lock.
    fn refused(&self, error: &LockError);

    /// The acquisition got its lock.
    fn held(&self, lease: &LeaseHandle);

    /// The lease is about to end; if it is over already, `over` has the reason. The line is dropped once the release
    /// was sent.
    fn ends(&self, over: Option<LeaseEnd>, is_cut_off: bool);
}
