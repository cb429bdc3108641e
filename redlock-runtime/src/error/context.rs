//! What a registry adds to the error of a call.

use std::sync::Arc;

use redlock_core::env::Throttles;

use super::{HttpSettings, LockError};
use crate::site::Site;

impl LockError {
    /// The same error, of a call of the function at `site`, in a registry with the settings `http`, whose
    /// log lines are held back by `throttles`.
    pub(crate) fn of_call(
        mut self,
        site: Option<&'static Site>,
        http: HttpSettings,
        throttles: &Throttles,
    ) -> Self {
        // Nobody else has it yet: it was just made.
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.site = site;
            inner.http = http;
            inner.throttles = Some(throttles.clone());
        }
        self
    }

    /// The same error of a call without a registry.
    pub(crate) fn of_site(mut self, site: Option<&'static Site>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.inner) {
            inner.site = site;
        }
        self
    }

    /// The throttles of the registry that the call found.
    pub(crate) fn throttles(&self) -> Option<&Throttles> {
        self.inner.throttles.as_ref()
    }
}
