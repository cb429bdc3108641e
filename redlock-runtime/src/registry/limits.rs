//! The limits of a registry's leases.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::env::Throttle;
use redlock_core::error::{Brief, Invalid};

use crate::error::HttpSettings;

/// The limits of a registry, as its leases keep them.
pub(crate) struct RegistryLimits {
    /// The registry's number: it tells a call below a holder from a call in another registry.
    pub(crate) registry: u64,
    pub(crate) max_ttl: Duration,
    /// How errors of the registry look over HTTP.
    pub(crate) http: HttpSettings,
    /// For the log lines about its leases.
    pub(crate) throttle: Arc<Throttle>,
}

/// Checks a ttl against `max_ttl`.
pub(crate) fn check_ttl(ttl: Duration, max_ttl: Duration) -> Result<(), Invalid> {
    if ttl <= max_ttl {
        return Ok(());
    }
    Err(Invalid::new(format!(
        "the ttl of {} is above `max_ttl`, {}; lower it, or raise `max_ttl` in the configuration",
        Brief(ttl),
        Brief(max_ttl),
    )))
}
