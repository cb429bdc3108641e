//! The errors of a configuration and of a start.

use std::fmt;

use super::Problem;
use crate::health::PoolHealth;

/// The error of [`init`](crate::init()) when it refuses to start. The error has every problem, each with its kind and
/// its fix.
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
#[error("redlock cannot start: {}", joined(.0))]
pub struct InitError(pub(crate) Vec<Problem>);

impl InitError {
    /// Returns all problems. There is at least one.
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

/// The error of a refused configuration. The error has every problem, with its kind, its place and its fix, and shows
/// no password.
#[derive(Clone, thiserror::Error)]
#[error("redlock's configuration: {}", joined(.0))]
pub struct ConfigError(pub(crate) Vec<Problem>);

impl ConfigError {
    /// Returns all problems. There is at least one.
    ///
    /// ```
    /// use redlock_runtime::error::ProblemKind;
    ///
    /// let refused = redlock_runtime::Config::from_toml("max_ttl = 'long'\nttl = '5s'").unwrap_err();
    /// let kinds: Vec<_> = refused.problems().iter().map(|problem| problem.kind).collect();
    /// assert_eq!(kinds, [ProblemKind::InvalidValue, ProblemKind::UnknownKey]);
    /// ```
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

/// Returns the first problems as one text. A file of the wrong kind may have very many.
fn joined(problems: &[Problem]) -> String {
    const MOST_PROBLEMS: usize = 12;
    let first = problems.iter().take(MOST_PROBLEMS).map(Problem::to_string);
    let text = first.collect::<Vec<_>>().join("; ");
    match problems.len().saturating_sub(MOST_PROBLEMS) {
        0 => text,
        more => format!("{text}; and {more} more"),
    }
}

/// The error of [`Redlock::ready`](crate::Redlock::ready) when it gives up. The error names each default pool that does
/// not vote, with the reason.
#[derive(Clone, thiserror::Error)]
#[error("not ready: {text}")]
pub struct NotReady {
    kind: NotReadyKind,
    text: String,
}

impl NotReady {
    pub(crate) fn new(kind: NotReadyKind, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { kind, text }
    }

    /// Returns the kind of the error, with its details.
    ///
    /// ```
    /// use redlock_runtime::error::{NodeErrorKind, NotReady, NotReadyKind};
    /// use redlock_runtime::health::NodeStatus;
    ///
    /// /// True if the program should wait on, because a pool may vote by itself.
    /// fn waits_on(error: &NotReady) -> bool {
    ///     let NotReadyKind::TooFewVotes(abstaining) = error.kind() else {
    ///         return false;
    ///     };
    ///     let for_a_person = [NodeErrorKind::Denied, NodeErrorKind::Refused];
    ///     abstaining.iter().any(|pool| match &pool.status {
    ///         NodeStatus::Abstaining(reason) => !for_a_person.contains(&reason.kind()),
    ///         _ => true,
    ///     })
    /// }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use redlock_runtime::{Config, Redlock};
    /// # let redlock = Redlock::start(Config::new().pool("a", "redis://127.0.0.1:1")).await?;
    /// # let error = redlock.ready(std::time::Duration::ZERO).await.unwrap_err();
    /// # assert!(waits_on(&error));
    /// # Ok(()) }
    /// ```
    pub fn kind(&self) -> &NotReadyKind {
        &self.kind
    }
}

/// The kind of a [`NotReady`] error.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NotReadyKind {
    /// Too few default pools vote. These pools abstain. The reason of each tells whether to keep waiting or to alert
    /// somebody.
    TooFewVotes(Vec<PoolHealth>),
    /// A shutdown has begun. End the program.
    ShuttingDown,
    /// The process was forked after the start of the registry. Call [`init`](crate::init()) after the fork.
    Forked,
}

macro_rules! debug_as_text {
    ($($error:ty),+) => {
        $(
            /// Writes the text, because a `main` that returns the error prints its `Debug`.
            impl fmt::Debug for $error {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    fmt::Display::fmt(self, f)
                }
            }
        )+
    };
}

debug_as_text!(InitError, ConfigError, NotReady);
