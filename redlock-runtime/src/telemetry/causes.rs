//! Log lines, at most one a second and cause.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use redlock_core::env::{Clock, Throttle};

/// A throttle for each cause of log lines. What ends one lease or refuses one call, as a fault of a node
/// does, usually concerns all at once.
pub(crate) struct Causes {
    clock: Arc<dyn Clock>,
    throttles: Mutex<BTreeMap<&'static str, Throttle>>,
}

impl Causes {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            throttles: Mutex::default(),
        }
    }

    /// See [`Throttle::pass`].
    pub(crate) fn pass(&self, cause: &'static str) -> Option<u64> {
        let now = self.clock.now();
        self.throttles.lock().entry(cause).or_default().pass(now)
    }
}

impl fmt::Debug for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Causes").finish_non_exhaustive()
    }
}
