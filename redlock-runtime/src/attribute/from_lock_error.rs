//! Return types of functions under `#[redlock]`.

use crate::error::LockError;

/// The return type of a function under `#[redlock]`: a [`LockError`] can be converted to it.
///
/// Every `Result<T, E>` with `E: From<LockError>` implements the trait. `anyhow::Result`, a boxed
/// `dyn Error + Send + Sync` and most error enums need nothing more. Implement the trait for your
/// own type if the lock error is one of its values:
///
/// ```
/// use redlock_runtime::{FromLockError, LockError};
///
/// enum Outcome {
///     Charged,
///     TryLater(LockError),
/// }
///
/// impl FromLockError for Outcome {
///     fn from_lock_error(error: LockError) -> Self {
///         Outcome::TryLater(error)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot carry a lock error",
    label = "a function under `#[redlock]` returns this when it gets no lock",
    note = "return `Result<_, E>` where `E: From<redlock_runtime::LockError>`",
    note = "or implement `redlock_runtime::FromLockError` for `{Self}`",
    note = "with `if_locked = \"skip\"`, `()` and `Option<_>` do as well"
)]
pub trait FromLockError: Sized {
    /// The value to return if the lock was not acquired, or was lost under the body.
    fn from_lock_error(error: LockError) -> Self;
}

// Without these notes, rustc would explain that the inner `E: From<LockError>` does not hold, and
// would not mention the two solutions.
#[diagnostic::do_not_recommend]
impl<T, E> FromLockError for Result<T, E>
where
    E: From<LockError>,
{
    fn from_lock_error(error: LockError) -> Self {
        Err(E::from(error))
    }
}
