//! Converts the errors of core to kinds of lock errors.

use redlock_core::error::{AcquireError, ExtendError, Invalid};

use super::LockErrorKind;

impl LockErrorKind {
    pub(crate) fn of_acquire(error: AcquireError) -> Self {
        match error {
            AcquireError::Contended(contended) => Self::Contended(contended),
            AcquireError::Unavailable(unavailable) => Self::Unavailable(unavailable),
            AcquireError::AlreadyRun(run) => Self::AlreadyRun(run),
            AcquireError::Invalid(invalid) => Self::Invalid(invalid),
            other => Self::Invalid(Invalid::new(other.to_string())),
        }
    }

    pub(crate) fn of_extend(error: ExtendError) -> Self {
        match error {
            ExtendError::Ended(over) => Self::Lost(over),
            ExtendError::Unavailable(unavailable) => Self::Unavailable(unavailable),
            ExtendError::Invalid(invalid) => Self::Invalid(invalid),
            other => Self::Invalid(Invalid::new(other.to_string())),
        }
    }
}
