//! One problem of a configuration or of a start: its kind, its place, and its text.

use std::fmt;

use crate::text::ShownName;

/// A problem because of which a configuration, or a start, was refused. Its text, by `Display`, has the place and the fix.
/// Nothing in it shows a password: a name that may be a URL is replaced.
///
/// ```
/// use redlock_runtime::Config;
/// use redlock_runtime::error::{Place, ProblemKind};
///
/// let refused = Config::from_toml("[defaults]\ntll = '5s'").unwrap_err();
/// let problem = &refused.problems()[0];
/// assert_eq!(problem.kind(), ProblemKind::UnknownKey);
/// assert!(matches!(problem.place(), Some(Place::File { line: Some(2), .. })));
/// let text = "line 2: unknown key `tll` in `[defaults]`; did you mean `ttl`?";
/// assert_eq!(problem.to_string(), text);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    kind: ProblemKind,
    pub(crate) place: Option<Place>,
    pools: Vec<String>,
    site: Option<String>,
    text: String,
}

/// The kind of a problem, by who can mend it.
///
/// ```
/// use redlock_runtime::error::{InitError, ProblemKind};
///
/// /// True if the same program may start later with the same configuration.
/// fn may_start_later(refused: &InitError) -> bool {
///     refused.problems().iter().all(|problem| match problem.kind() {
///         // The password may be about to change on the servers too.
///         ProblemKind::Denied | ProblemKind::NodeNotMade | ProblemKind::NoThread => true,
///         _ => false,
///     })
/// }
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// # let refused = redlock_runtime::init(redlock_runtime::Config::new()).await.unwrap_err();
/// # assert!(!may_start_later(&refused));
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The configuration file cannot be read, or is no TOML. Look at its mount and its permissions; a file that is just
    /// being written can be read again.
    Unreadable,
    /// There is no such key or variable. Correct its name, or start the version of the program that knows it.
    UnknownKey,
    /// A value that is not allowed: of a key, of a variable, of a setter, or of an attribute if no
    /// [place](Problem::place) is known. Correct the configuration or the program.
    InvalidValue,
    /// No pool is configured. Give the program its configuration.
    NoPools,
    /// A name that is not the name of exactly one configured pool. Configure the pool, or correct the name.
    UnknownPool,
    /// An override whose name is not the name of exactly one function. Correct the name, or leave the override out of the
    /// configuration of this program.
    UnknownSite,
    /// A server that a lock cannot rely on: it evicts keys, is a replica, or is the server of two pools. Page whoever
    /// runs the servers.
    RefusedServer,
    /// The servers refuse the login, the database, the certificate, or commands that a function needs. Page whoever
    /// keeps the passwords and ACLs; a start after that succeeds.
    Denied,
    /// The closure of [`Config::pool_node`](crate::Config::pool_node) failed. Try again if its own error says so.
    NodeNotMade,
    /// The process has a registry already. Correct the program, which calls [`init`](crate::init()) twice.
    AlreadyRunning,
    /// The system has no thread for the library. Raise the limits of the process, or try again.
    NoThread,
}

/// The source of a key or a value in the configuration.
///
/// ```
/// use redlock_runtime::Config;
/// use redlock_runtime::error::Place;
///
/// let refused = Config::new().with_env([("REDLOCK_MAX_TTL", "long")]).unwrap_err();
/// let expected = Place::Variable("REDLOCK_MAX_TTL".to_owned());
/// assert_eq!(refused.problems()[0].place(), Some(&expected));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Place {
    /// A file, or the text of [`Config::from_toml`](crate::Config::from_toml).
    #[non_exhaustive]
    File {
        /// The path, as texts show it; `None` for a text.
        path: Option<String>,
        /// The line, counted from one; `None` if the file cannot be opened.
        line: Option<usize>,
    },
    /// The name of an environment variable.
    Variable(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, line) = match self {
            Self::Variable(name) => return f.write_str(name),
            Self::File { path, line } => (path.as_deref(), line.map(|it| format!("line {it}"))),
        };
        let parts: Vec<_> = path.into_iter().chain(line.as_deref()).collect();
        f.write_str(&parts.join(": "))
    }
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            place: None,
            pools: Vec::new(),
            site: None,
            text: text.into(),
        }
    }

    /// Returns the problem of a value that is not allowed.
    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::new(ProblemKind::InvalidValue, text)
    }

    /// Returns the problem with `heading` before its text.
    pub(crate) fn under(mut self, heading: impl fmt::Display) -> Self {
        self.text.insert_str(0, &heading.to_string());
        self
    }

    /// Returns the problem at this place, if a source of the configuration has it.
    pub(crate) fn at(mut self, place: Option<&Place>) -> Self {
        self.place = place.cloned();
        match place {
            Some(place) => self.under(format_args!("{place}: ")),
            None => self,
        }
    }

    pub(crate) fn of_pools<'a>(mut self, names: impl IntoIterator<Item = &'a str>) -> Self {
        let shown = names.into_iter().map(|name| ShownName(name).to_string());
        self.pools = shown.collect();
        self
    }

    pub(crate) fn of_site(mut self, name: &str) -> Self {
        self.site = Some(ShownName(name).to_string());
        self
    }

    /// Returns the kind, which says who can mend the problem.
    ///
    /// ```
    /// # use redlock_runtime::{Config, Redlock, error::ProblemKind};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let refused = Redlock::start(Config::new()).await.unwrap_err();
    /// assert_eq!(refused.problems()[0].kind(), ProblemKind::NoPools);
    /// # }
    /// ```
    pub fn kind(&self) -> ProblemKind {
        self.kind
    }

    /// Returns the place in the configuration; `None` if code set the value, or a server is at fault.
    ///
    /// ```
    /// let refused = redlock_runtime::Config::from_toml("key_prefix = 3").unwrap_err();
    /// assert_eq!(refused.problems()[0].place().unwrap().to_string(), "line 1");
    /// ```
    pub fn place(&self) -> Option<&Place> {
        self.place.as_ref()
    }

    /// Returns the names of the pools that are at fault. It is empty if no pool is.
    ///
    /// ```
    /// # use redlock_runtime::{Config, Redlock};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let config = Config::new().pool("a", "memory://x").pool("b", "memory://x");
    /// let refused = Redlock::start(config).await.unwrap_err();
    /// assert_eq!(refused.problems()[0].pools(), ["a", "b"]);
    /// # }
    /// ```
    pub fn pools(&self) -> &[String] {
        &self.pools
    }

    /// Returns the name of the annotated function, or of the override, that is at fault.
    ///
    /// ```
    /// # use redlock_runtime::{Config, Redlock, config::SiteConfig};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let config = Config::new().pool("a", "memory://a").site("shop::chrage", SiteConfig::new());
    /// let refused = Redlock::start(config).await.unwrap_err();
    /// assert_eq!(refused.problems()[0].site(), Some("shop::chrage"));
    /// # }
    /// ```
    pub fn site(&self) -> Option<&str> {
        self.site.as_deref()
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
