//! Return types of functions under `#[redlock]`.

use crate::error::LockError;

/// A return type for functions under `#[redlock]`: a [`LockError`] can be converted to it.
///
/// Every `Result<T, E>` whose `E` implements `From<LockError>` implements the trait. So `anyhow::Result`, a boxed
/// `dyn Error + Send + Sync` and most error enums work as they are. Implement the trait for a type of your own if the
/// lock error is one of its values:
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
    note = "return `Result<_, E>` where `E: From<redlock_runtime::LockError>`: an error type of yours that \
            implements it, or `Box<dyn std::error::Error + Send + Sync>`",
    note = "your crate cannot implement `From` for an error type of another crate, such as `std::io::Error`: return a type \
            of your own that wraps both errors; if the signature is fixed, put the attribute on an inner function, and \
            convert its error",
    note = "a function that returns `()` or an `Option` may return without a lock and without an error: add \
            `if_locked = \"skip\"`",
    note = "a handler may return `impl IntoResponse` of axum or `impl Responder` of actix-web, with the feature `axum` or \
            `actix` of `redlock-runtime`",
    note = "a type that your crate defines can implement `redlock_runtime::FromLockError` instead"
)]
pub trait FromLockError: Sized {
    /// Returns the value of a call whose lock was refused, or lost under the body.
    fn from_lock_error(error: LockError) -> Self;

    /// True if a body that returned `value` succeeded. With [`once_per`](crate::parameters::LockOptions::once_per),
    /// only a run that succeeded is remembered. For a `Result`, `Ok` counts as success and `Err` does not. Every other
    /// value counts as success.
    fn is_success(_value: &Self) -> bool {
        true
    }
}

// Without this attribute, rustc would report that `E` lacks `From<LockError>`, and leave out the notes above.
#[diagnostic::do_not_recommend]
impl<T, E: From<LockError>> FromLockError for Result<T, E> {
    fn from_lock_error(error: LockError) -> Self {
        Err(E::from(error))
    }

    fn is_success(value: &Self) -> bool {
        value.is_ok()
    }
}
