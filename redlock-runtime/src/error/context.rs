//! The context that a registry shares with its leases, and adds to the errors of its calls.

use std::fmt;
use std::time::Duration;

use redlock_core::Resource;
use redlock_core::error::Brief;
use redlock_core::internal::Throttle;

use crate::site::Site;

/// The context that a registry shares with its leases and with the errors of its calls.
pub(crate) struct RegistryContext {
    /// The registry's number: it tells a call below a holder from a call in another registry.
    pub(crate) registry: u64,
    pub(crate) max_ttl: Duration,
    /// The HTTP status of a refused caller.
    pub(crate) contended_status: u16,
    /// For the log lines about its calls and leases.
    pub(crate) throttle: Throttle,
}

/// A holder in the process of a refused call, as the error names it.
pub(crate) struct HolderHere {
    pub(crate) site: &'static Site,
    /// The names that it has, if they are not those that the refused call wanted.
    pub(crate) others: Option<Resource>,
    /// The time for which the holder has had the lock.
    pub(crate) held: Duration,
}

impl fmt::Display for HolderHere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "; the holder is {} in this process, ", self.site)?;
        if let Some(others) = &self.others {
            write!(f, "which has `{others}`, ")?;
        }
        write!(f, "for {} now", Brief(self.held))
    }
}
