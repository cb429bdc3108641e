//! What a registry adds to the error of a call.

use std::sync::Arc;

use redlock_core::env::Throttle;

use super::{HttpSettings, LockError};

impl LockError {
    /// The same error, of a call in a registry with the settings `http`, whose log lines are held back by
    /// `throttle`.
    pub(crate) fn of_call(mut self, http: HttpSettings, throttle: &Arc<Throttle>) -> Self {
        // Nobody else has it yet: it was just made.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.http = http;
            inner.throttle = Some(Arc::clone(throttle));
        }
        self
    }

    /// The throttle of the registry that the call found.
    pub(crate) fn throttle(&self) -> Option<&Throttle> {
        self.inner.throttle.as_deref()
    }
}
