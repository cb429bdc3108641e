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
    note = "a type that your crate defines can implement `redlock_runtime::FromLockError` instead"
)]
pub trait FromLockError: Sized {
    /// The value to return if the lock was not acquired, or was lost under the body.
    fn from_lock_error(error: LockError) -> Self;

    /// Whether a body that returned `value` did its work. A run that did not is not remembered for
    /// [`once_per`](crate::parameters::LockOptions::once_per). `Ok` did, `Err` did not, and any other
    /// value did.
    fn is_success(_value: &Self) -> bool {
        true
    }
}

impl<T, E> FromLockError for Result<T, E>
where
    E: CarriesLockError,
{
    fn from_lock_error(error: LockError) -> Self {
        Err(E::carrying(error))
    }

    fn is_success(value: &Self) -> bool {
        value.is_ok()
    }
}

/// Every `E: From<LockError>`. A trait of its own, so that rustc's error is about `E` and says what
/// to do.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot carry a lock error",
    label = "a function under `#[redlock]` returns this error when it gets no lock",
    note = "implement `From<redlock_runtime::LockError>` for `{Self}` if your crate defines it",
    note = "for a type of another crate, return an error type of your own that holds either error, or \
            `Box<dyn std::error::Error + Send + Sync>`"
)]
pub trait CarriesLockError: Sized {
    /// The error that is returned.
    fn carrying(error: LockError) -> Self;
}

// Not recommended: rustc would report `E: From<LockError>`, without the notes above.
#[diagnostic::do_not_recommend]
impl<E: From<LockError>> CarriesLockError for E {
    fn carrying(error: LockError) -> Self {
        Self::from(error)
    }
}

/// [`FromLockError`] for `()` and `Option`, which the attribute knows by their tokens: rustc's error
/// has one more way out.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot carry a lock error",
    label = "a function under `#[redlock]` returns this when it gets no lock",
    note = "return `Result<{Self}, E>` where `E: From<redlock_runtime::LockError>`",
    note = "or add `if_locked = \"skip\"` if the function is to return without a lock, and without an error"
)]
pub trait FromLockErrorOrSkips: Sized {
    /// As [`FromLockError::from_lock_error`].
    fn from_lock_error(error: LockError) -> Self;

    /// As [`FromLockError::is_success`].
    fn is_success(value: &Self) -> bool;
}

#[diagnostic::do_not_recommend]
impl<T: FromLockError> FromLockErrorOrSkips for T {
    fn from_lock_error(error: LockError) -> Self {
        Self::from_lock_error(error)
    }

    fn is_success(value: &Self) -> bool {
        <Self as FromLockError>::is_success(value)
    }
}
