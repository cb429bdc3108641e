//! What a registry adds to the error of a call.

use std::sync::Arc;

use redlock_core::env::Throttles;

use super::{HttpSettings, LockError};

impl LockError {
    /// The same error, of a call in a registry with the settings `http`, whose log lines are held back by
    /// `throttles`.
    pub(crate) fn of_call(mut self, http: HttpSettings, throttles: &Throttles) -> Self {
        // Nobody else has it yet: it was just made.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.http = http;
            inner.throttles = Some(throttles.clone());
        }
        self
    }

    /// The throttles of the registry that the call found.
    pub(crate) fn throttles(&self) -> Option<&Throttles> {
        self.inner.throttles.as_ref()
    }
}
