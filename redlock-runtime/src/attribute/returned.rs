//! The future that an annotated function returns, told apart from any other future.

/// The future that runs under the lock. The user's code cannot make a value of this type, so a
/// `return` of another future, which would run without the lock, does not compile.
#[must_use]
pub struct RunsUnderTheLock<F> {
    future: F,
}

impl<F> RunsUnderTheLock<F> {
    /// Marks the future at the end of an annotated function.
    pub fn future(future: F) -> Self {
        Self { future }
    }
}

/// Runs the statements before the future. The bound makes the closure an `FnOnce`, so that the
/// future may keep references that the closure owns.
pub fn returned<F>(statements: impl FnOnce() -> RunsUnderTheLock<F>) -> F {
    statements().future
}
