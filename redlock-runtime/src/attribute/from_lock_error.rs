//! How a function under `#[redlock]` returns a lock error.

use crate::error::LockError;

/// What a function under `#[redlock]` returns, as far as the attribute needs to know: a type that
/// a [`LockError`] can become.
///
/// Any `Result<T, E>` with `E: From<LockError>` is one, so `anyhow::Result`, a boxed
/// `dyn Error + Send + Sync` and most error enums need nothing more. Implement the trait for
/// a type of your own where the lock error is a value of it:
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
    /// The value to return where the lock was not acquired, or was lost under the body.
    fn from_lock_error(error: LockError) -> Self;
}

// Without this, rustc would explain that the inner `E: From<LockError>` does not hold and leave
// out the two ways to go on.
#[diagnostic::do_not_recommend]
impl<T, E> FromLockError for Result<T, E>
where
    E: From<LockError>,
{
    fn from_lock_error(error: LockError) -> Self {
        Err(E::from(error))
    }
}
