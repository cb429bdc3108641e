//! The error of a request that cannot be served.

use std::borrow::Cow;

/// The error for a value that a request may not have. The text names the value, the reason and the fix.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Invalid {
    text: Cow<'static, str>,
    is_of_a_file: bool,
}

impl Invalid {
    /// Makes an error. `text` names the value, the reason and the fix.
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        let (text, is_of_a_file) = (text.into(), false);
        Self { text, is_of_a_file }
    }

    /// Returns the error for a file that is unreadable or has unusable content.
    pub(crate) fn of_a_file(text: String) -> Self {
        let (text, is_of_a_file) = (text.into(), true);
        Self { text, is_of_a_file }
    }

    /// True if the value names a file that is unreadable or has unusable content. The value may be right.
    pub fn is_of_a_file(&self) -> bool {
        self.is_of_a_file
    }

    /// Returns all errors of `checks` as a single error.
    pub(crate) fn of_all<const N: usize>(checks: [Result<(), Self>; N]) -> Result<(), Self> {
        let wrong = checks.into_iter().filter_map(Result::err);
        let all = wrong.reduce(|one, other| Self::new(format!("{one}; {other}")));
        all.map_or(Ok(()), Err)
    }
}
