//! Data of a registry that its leases and the errors of its calls need.

use std::fmt;
use std::time::Duration;

use redlock_core::Resource;
use redlock_core::error::Brief;
use redlock_core::internal::Throttle;

use crate::site::Site;

/// The data that a registry shares with its leases and with the errors of its calls.
pub(crate) struct RegistryContext {
    /// The number of the registry. The number shows whether a call and the lease above it belong to one registry.
    pub(crate) registry: u64,
    pub(crate) max_ttl: Duration,
    /// The HTTP status for a call that is refused because another caller holds the lock, or because its job ran already.
    pub(crate) contended_status: u16,
    /// Limits the log lines about the registry's calls and leases.
    pub(crate) throttle: Throttle,
}

/// The holder in this process that made a call fail, as the error names it.
pub(crate) struct HolderHere {
    pub(crate) site: &'static Site,
    /// The names that the holder has, if they differ from those of the refused call.
    pub(crate) others: Option<Resource>,
    /// The time since the holder acquired the lock.
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
