//! Why a configuration or a start was refused.

use std::fmt;

/// Why [`init`](crate::init()) refused to start: every problem that was found, each with its fix.
#[derive(Clone)]
pub struct InitError {
    pub(crate) problems: Vec<String>,
}

impl InitError {
    pub(crate) fn one(problem: impl Into<String>) -> Self {
        Self {
            problems: vec![problem.into()],
        }
    }

    /// The problems, one text each.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

impl fmt::Display for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("redlock cannot start: ")?;
        f.write_str(&self.problems.join("; "))
    }
}

/// The text too: it is what a `main` that returns the error prints.
impl fmt::Debug for InitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for InitError {}

/// Why a configuration could not be read. Names the place and the fix; shows no password.
#[derive(Clone, thiserror::Error)]
#[error("redlock's configuration: {0}")]
pub struct ConfigError(pub(crate) String);

/// The text too: it is what a `main` that returns the error prints.
impl fmt::Debug for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
