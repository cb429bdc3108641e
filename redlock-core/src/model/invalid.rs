//! The error of a request that cannot be served.

use std::borrow::Cow;

/// The error for a value that a request may not have. The text names the value, the reason and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Invalid(Cow<'static, str>);

impl Invalid {
    /// Makes an error. `text` names the value, the reason and the fix.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        Self(text.into())
    }

    /// Returns all errors of `checks` as a single error.
    pub(crate) fn of_all<const N: usize>(checks: [Result<(), Self>; N]) -> Result<(), Self> {
        let wrong = checks.into_iter().filter_map(Result::err);
        let all = wrong.reduce(|one, other| Self::new(format!("{one}; {other}")));
        all.map_or(Ok(()), Err)
    }
}
