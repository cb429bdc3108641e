//! Marks the future that an annotated function returns, to tell it from other futures.

/// The future that runs under the lock.
///
/// The user's code cannot make a value of this type. So a `return` of another future does not compile; that future
/// would run without the lock.
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

/// Runs the statements that precede the future, and returns the future. The bound makes the closure an `FnOnce`, so
/// that the future may keep references to what the closure owns.
pub fn returned<F>(statements: impl FnOnce() -> RunsUnderTheLock<F>) -> F {
    statements().future
}
