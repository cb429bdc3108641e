//! Return types of functions under `#[redlock(if_locked = "skip")]`.

use redlock_core::internal::log_throttled;
use redlock_core::targets;

use crate::error::LockError;
use crate::telemetry::{figure, kind_of};

/// A return type with a value for skipped calls. A function with `if_locked = "skip"` returns that value if the lock is
/// held, or if the job of a lock with `once_per` ran already.
///
/// `()` and `Option<T>` implement the trait. So does every `Result<T, E>` if `T` does and `E` implements
/// `From<LockError>`. Any other lock error, such as unreachable nodes, becomes an `Err` if the type has one.
/// Otherwise the error is logged, and the call counts as skipped.
///
/// ```
/// use redlock_runtime::{FromSkip, LockError};
///
/// enum Swept {
///     Files(usize),
///     ByAnother,
///     Failed(LockError),
/// }
///
/// impl FromSkip for Swept {
///     fn skipped() -> Self {
///         Swept::ByAnother
///     }
///
///     fn from_lock_error(error: LockError) -> Self {
///         Swept::Failed(error)
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no value for a call that is skipped",
    label = "a function with `if_locked = \"skip\"` returns this when somebody else holds the lock",
    note = "return `()`, `Option<_>`, or a `Result<_, E>` of these where `E: From<redlock_runtime::LockError>`",
    note = "a type that your crate defines can implement `redlock_runtime::FromSkip` instead"
)]
pub trait FromSkip: Sized {
    /// Returns the value of a skipped call: another caller holds the lock, or the job of a lock with `once_per` ran
    /// already.
    fn skipped() -> Self;

    /// Returns the value of a call whose lock was refused for another reason, or lost under the body.
    fn from_lock_error(error: LockError) -> Self;

    /// True if a body that returned `value` succeeded. With [`once_per`](crate::parameters::LockOptions::once_per),
    /// only a run that succeeded is remembered. For a `Result`, `Ok` counts as success and `Err` does not. Every other
    /// value counts as success.
    fn is_success(_value: &Self) -> bool {
        true
    }

    /// Returns the value of a refused call: that of a skipped call, or that of the error.
    // Hidden, because only the expansion of the attribute calls it.
    #[doc(hidden)]
    fn from_refusal(error: LockError) -> Self {
        if error.is_contended() || error.is_already_run() {
            Self::skipped()
        } else {
            Self::from_lock_error(error)
        }
    }
}

// Without this attribute, rustc would list these types, which the notes above already name.
#[diagnostic::do_not_recommend]
impl FromSkip for () {
    fn skipped() -> Self {}

    fn from_lock_error(error: LockError) -> Self {
        log(&error);
    }
}

#[diagnostic::do_not_recommend]
impl<T> FromSkip for Option<T> {
    fn skipped() -> Self {
        None
    }

    fn from_lock_error(error: LockError) -> Self {
        log(&error);
        None
    }
}

impl<T, E> FromSkip for Result<T, E>
where
    T: FromSkip,
    E: From<LockError>,
{
    fn skipped() -> Self {
        Ok(T::skipped())
    }

    fn from_lock_error(error: LockError) -> Self {
        Err(E::from(error))
    }

    fn is_success(value: &Self) -> bool {
        value.is_ok()
    }
}

/// Logs an error, because the return type has no place for it.
fn log(error: &LockError) {
    let (site, kind) = (error.site().name(), kind_of(error));
    figure!(counter SWALLOWED { site: site, error_type: kind } increment(1));
    // An error without a registry has no throttle, so each one is logged. It is a mistake in the program. An outage,
    // which fails all calls at once, has a registry and is throttled.
    log_throttled!(
        target: targets::LOCK, error.throttle(),
        (site, kind),
        ERROR,
        "the lock failed, so the function did not run to its end",
        %site,
        %error
    );
}
