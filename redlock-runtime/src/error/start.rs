//! Why a configuration or a start was refused.

use std::fmt;

/// Why [`init`](crate::init()) refused to start: every problem that was found, each with its fix.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use redlock_runtime::Config;
///
/// let config = Config::new().pool("a", "http://10.0.0.1");
/// let refused = redlock_runtime::init(config).await.unwrap_err();
/// println!("{refused}");
/// # }
/// ```
#[derive(Clone, thiserror::Error)]
#[error("redlock cannot start: {}", joined(.problems))]
pub struct InitError {
    pub(crate) problems: Vec<String>,
}

impl InitError {
    pub(crate) fn one(problem: impl Into<String>) -> Self {
        Self {
            problems: vec![problem.into()],
        }
    }

    /// # Errors
    /// The error with these problems, if there are any.
    pub(crate) fn unless_empty(problems: Vec<String>) -> Result<(), Self> {
        match &*problems {
            [] => Ok(()),
            _ => Err(Self { problems }),
        }
    }

    /// Returns the problems, one text each.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use redlock_runtime::{Config, Redlock};
    /// let config = Config::new().pool("a", "memory://a").pool("b", "memory://a");
    /// let refused = Redlock::start(config).await.unwrap_err();
    /// assert_eq!(refused.problems().len(), 1);
    /// # }
    /// ```
    pub fn problems(&self) -> &[String] {
        &self.problems
    }
}

/// Why a configuration could not be read: every mistake, with its place and its fix. Shows no password.
///
/// ```
/// let refused = redlock_runtime::Config::from_toml("[waiting]\nmost = 3").unwrap_err();
/// println!("{refused}");
/// ```
#[derive(Clone, thiserror::Error)]
#[error("redlock's configuration: {0}")]
pub struct ConfigError(String);

impl ConfigError {
    /// # Errors
    /// The error with these mistakes, if there are any.
    pub(crate) fn unless_empty(mistakes: &[String]) -> Result<(), Self> {
        match mistakes {
            [] => Ok(()),
            mistakes => Err(Self(joined(mistakes))),
        }
    }
}

/// Returns the first problems as one text: a file of another kind is full of them.
fn joined(problems: &[String]) -> String {
    const MOST_PROBLEMS: usize = 12;
    let mut text = problems[..problems.len().min(MOST_PROBLEMS)].join("; ");
    if problems.len() > MOST_PROBLEMS {
        text = format!("{text}; and {} more", problems.len() - MOST_PROBLEMS);
    }
    text
}

/// The reason why [`Redlock::ready`](crate::Redlock::ready) gave up waiting. Names each
/// default pool that does not vote, with its reason.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use redlock_runtime::{Config, Redlock};
/// let nobody_listens = Config::new().pool("a", "redis://127.0.0.1:1");
/// let redlock = Redlock::start(nobody_listens).await?;
/// let error = redlock.ready(std::time::Duration::ZERO).await.unwrap_err();
/// let expected = "not ready: 0 of 1 default pools vote, 1 needed; a: ";
/// assert!(error.to_string().starts_with(expected), "{error}");
/// # Ok(()) }
/// ```
#[derive(Clone, thiserror::Error)]
#[error("not ready: {0}")]
pub struct NotReady(pub(crate) String);

macro_rules! debug_as_text {
    ($($error:ty),+) => {
        $(
            /// The text too: it is what a `main` that returns the error prints.
            impl fmt::Debug for $error {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt::Display::fmt(self, f)
                }
            }
        )+
    };
}

debug_as_text!(InitError, ConfigError, NotReady);
