//! Why a configuration or a start was refused.

use std::fmt;

use redlock_core::node::NodeError;

use super::Problem;
use crate::health::VotingPools;

/// Why [`init`](crate::init()) refused to start: every problem that was found, each with its kind and its fix.
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
    problems: Vec<Problem>,
}

impl InitError {
    pub(crate) fn one(problem: Problem) -> Self {
        Self {
            problems: vec![problem],
        }
    }

    /// # Errors
    /// The error with these problems, if there are any.
    pub(crate) fn unless_empty(problems: Vec<Problem>) -> Result<(), Self> {
        match &*problems {
            [] => Ok(()),
            _ => Err(Self { problems }),
        }
    }

    /// Returns the problems, of which there is at least one.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// # use redlock_runtime::{Config, Redlock};
    /// use redlock_runtime::error::ProblemKind;
    ///
    /// let config = Config::new().pool("a", "memory://a").pool("b", "memory://a");
    /// let refused = Redlock::start(config).await.unwrap_err();
    /// for problem in refused.problems() {
    ///     assert_eq!(problem.kind(), ProblemKind::RefusedServer);
    /// }
    /// # }
    /// ```
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

/// Why a configuration could not be read: every problem, with its kind, its place and its fix. Shows no password.
///
/// ```
/// let refused = redlock_runtime::Config::from_toml("[waiting]\nmost = 3").unwrap_err();
/// println!("{refused}");
/// ```
#[derive(Clone, thiserror::Error)]
#[error("redlock's configuration: {}", joined(.problems))]
pub struct ConfigError {
    problems: Vec<Problem>,
}

impl ConfigError {
    /// # Errors
    /// The error with these problems, if there are any.
    pub(crate) fn unless_empty(problems: Vec<Problem>) -> Result<(), Self> {
        match &*problems {
            [] => Ok(()),
            _ => Err(Self { problems }),
        }
    }

    /// Returns the problems, of which there is at least one.
    ///
    /// ```
    /// use redlock_runtime::error::ProblemKind;
    ///
    /// let refused = redlock_runtime::Config::from_toml("max_ttl = 'long'\nttl = '5s'").unwrap_err();
    /// let kinds: Vec<_> = refused.problems().iter().map(|problem| problem.kind()).collect();
    /// assert_eq!(kinds, [ProblemKind::InvalidValue, ProblemKind::UnknownKey]);
    /// ```
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

/// Returns the first problems as one text: a file of another kind is full of them.
fn joined(problems: &[Problem]) -> String {
    const MOST_PROBLEMS: usize = 12;
    let first = problems.iter().take(MOST_PROBLEMS);
    let mut text = first.map(Problem::to_string).collect::<Vec<_>>().join("; ");
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

    /// Returns why locks cannot be expected, with the details.
    ///
    /// ```
    /// use redlock_runtime::error::{NodeErrorKind, NotReady, NotReadyKind};
    ///
    /// /// True if the program should wait on, because a pool may vote by itself.
    /// fn waits_on(error: &NotReady) -> bool {
    ///     let NotReadyKind::TooFewVotes(missing) = error.kind() else {
    ///         return false;
    ///     };
    ///     let for_a_person = [NodeErrorKind::Denied, NodeErrorKind::Refused];
    ///     let mut reasons = missing.abstaining.iter().map(|it| it.reason.kind());
    ///     reasons.any(|kind| !for_a_person.contains(&kind))
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

/// Why locks cannot be expected.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use redlock_runtime::{Config, Redlock, error::NotReadyKind};
/// # let redlock = Redlock::start(Config::new().pool("a", "redis://127.0.0.1:1")).await?;
/// let error = redlock.ready(std::time::Duration::ZERO).await.unwrap_err();
/// match error.kind() {
///     NotReadyKind::TooFewVotes(missing) => println!("{missing}"),
///     other => println!("end the program: {other:?}"),
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum NotReadyKind {
    /// Too few default pools vote. The reason of each pool tells whether to wait on or to page somebody.
    TooFewVotes(TooFewVotes),
    /// A shutdown has begun. End the program.
    ShuttingDown,
    /// This process was forked from the one that started the registry. Call [`init`](crate::init()) after the fork.
    Forked,
}

/// The default pools, if too few of them vote for a lock.
///
/// ```
/// # fn example(missing: redlock_runtime::error::TooFewVotes) {
/// println!("{} of {} vote", missing.votes.voting, missing.votes.configured);
/// # }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TooFewVotes {
    /// The number of pools that vote, and of those that are needed.
    pub votes: VotingPools,
    /// The other default pools, in the order of their names.
    pub abstaining: Vec<AbstainingPool>,
}

/// A pool that does not vote.
///
/// ```
/// use redlock_runtime::error::{AbstainingPool, NodeErrorKind};
///
/// fn advice(abstaining: &AbstainingPool) -> String {
///     let pool = &abstaining.pool;
///     match abstaining.reason.kind() {
///         NodeErrorKind::Quarantined => format!("{pool} waits until it cannot have forgotten a lock"),
///         NodeErrorKind::Denied => format!("{pool} refuses the login: mend the password"),
///         NodeErrorKind::Refused => format!("{pool} has a server that a lock cannot rely on"),
///         _ => format!("{pool} cannot be reached now"),
///     }
/// }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AbstainingPool {
    /// The pool's name.
    pub pool: String,
    /// The reason, of which [`kind`](NodeError::kind) says what to do.
    pub reason: NodeError,
}

impl fmt::Display for TooFewVotes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let votes = self.votes;
        write!(
            f,
            "{} of {} default pools vote, {} needed",
            votes.voting, votes.configured, votes.needed,
        )?;
        let mut abstaining = self.abstaining.iter();
        abstaining.try_for_each(|it| write!(f, "; {}: {}", it.pool, it.reason))
    }
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
