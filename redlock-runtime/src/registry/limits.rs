//! The limits of a registry's leases.

use std::time::Duration;

use redlock_core::Request;
use redlock_core::env::Throttles;
use redlock_core::error::{Brief, Invalid};
use redlock_core::restart_check::{DRIFT_FACTOR, RestartCheck};

use crate::config::Config;
use crate::error::HttpSettings;

/// The limits of a registry, as its leases keep them.
pub(crate) struct RegistryLimits {
    /// The registry's number: it tells a call below a holder from a call in another registry.
    pub(crate) registry: u64,
    pub(crate) locks: LockLimits,
    /// How errors of the registry look over HTTP.
    pub(crate) http: HttpSettings,
    /// For the log lines about its leases.
    pub(crate) throttles: Throttles,
}

/// The limits of a lock's values.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockLimits {
    max_ttl: Duration,
    /// True if the restart check covers at least one pool.
    is_checked: bool,
}

impl LockLimits {
    pub(crate) fn of(config: &Config) -> Self {
        let (restart_check, pools) = config.restart_checked();
        Self {
            max_ttl: config.max_ttl,
            is_checked: restart_check != RestartCheck::Off && pools > 0,
        }
    }

    /// Checks the ttl against `max_ttl`, and the drift allowance against that of the restart check: a node
    /// whose clock runs faster than the lock allows for, and no faster than the check does, would vote and
    /// drop the lock early.
    pub(crate) fn check(self, request: &Request) -> Result<(), Invalid> {
        self.check_ttl(request.ttl)?;
        let factor = request.clock_drift_factor;
        if self.is_checked && factor < DRIFT_FACTOR {
            return Err(Invalid::new(format!(
                "`clock_drift_factor` of {factor} is below {DRIFT_FACTOR}, by which the restart check lets \
                 the clock of a node run faster; raise it, or set `restart_check` to \"off\"",
            )));
        }
        Ok(())
    }

    /// Checks a ttl against `max_ttl`.
    pub(crate) fn check_ttl(self, ttl: Duration) -> Result<(), Invalid> {
        let max_ttl = self.max_ttl;
        if ttl <= max_ttl {
            return Ok(());
        }
        Err(Invalid::new(format!(
            "the ttl of {} is above `max_ttl`, {}; lower it, or raise `max_ttl` in the configuration",
            Brief(ttl),
            Brief(max_ttl),
        )))
    }
}
