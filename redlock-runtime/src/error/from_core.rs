//! The errors of core, with what the lock was about and the effort that it took.

use std::time::Duration;

use redlock_core::Resource;
use redlock_core::error::{AcquireError, ExtendError, Invalid};

use super::{LockError, LockErrorKind};
use crate::site::Site;

impl LockError {
    pub(crate) fn of_acquire(error: AcquireError, resource: Resource, site: &'static Site) -> Self {
        let kind = match error {
            AcquireError::Contended(contended) => LockErrorKind::Contended(contended),
            AcquireError::Unavailable(unavailable) => LockErrorKind::Unavailable(unavailable),
            AcquireError::AlreadyRun(run) => LockErrorKind::AlreadyRun(run),
            AcquireError::Invalid(invalid) => LockErrorKind::Invalid(invalid),
            other => LockErrorKind::Invalid(Invalid::new(other.to_string())),
        };
        Self::new(kind, resource, site)
    }

    pub(crate) fn of_extend(error: ExtendError, resource: Resource, site: &'static Site) -> Self {
        let kind = match error {
            ExtendError::Ended(over) => LockErrorKind::Lost(over),
            ExtendError::Unavailable(unavailable) => LockErrorKind::Unavailable(unavailable),
            ExtendError::Invalid(invalid) => LockErrorKind::Invalid(invalid),
            other => LockErrorKind::Invalid(Invalid::new(other.to_string())),
        };
        Self::new(kind, resource, site)
    }

    /// The number of attempts and the time spent on them, if the lock was tried for.
    pub(crate) fn effort(&self) -> Option<(u32, Duration)> {
        match self.kind() {
            LockErrorKind::Contended(it) => Some((it.attempts, it.waited)),
            LockErrorKind::Unavailable(it) => Some((it.attempts, it.waited)),
            _ => None,
        }
    }
}
