//! The limits of a registry's leases.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::{Brief, Invalid};

use crate::error::HttpSettings;

/// What the registry allows, for operations on its leases.
#[derive(Debug)]
pub(crate) struct RegistryLimits {
    /// Which registry it is, so that a call below can be told from a call beside.
    pub(crate) registry: u64,
    pub(crate) max_ttl: Duration,
    /// How its errors look over HTTP.
    pub(crate) http: Arc<HttpSettings>,
}

/// Checks a ttl against the registry's `max_ttl`.
pub(crate) fn check_max_ttl(ttl: Duration, max_ttl: Duration) -> Result<(), Invalid> {
    if ttl <= max_ttl {
        return Ok(());
    }
    Err(Invalid::new(format!(
        "the ttl of {} is above `max_ttl`, {}; lower it, or raise `max_ttl` in the configuration",
        Brief(ttl),
        Brief(max_ttl),
    )))
}
