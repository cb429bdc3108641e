//! A problem of a configuration or of a start, with kind, place and text.

use std::fmt;

use crate::text::ShownName;

/// A problem because of which a configuration, or a start, was refused. Its text, by `Display`, has the place and the fix.
/// It shows no password of the configuration: a name that may be a URL is replaced. The error of a node of your own is shown as
/// its author wrote it, without words that may be URLs.
///
/// ```
/// use redlock_runtime::Config;
/// use redlock_runtime::error::ProblemKind;
///
/// let refused = Config::from_toml("[defaults]\ntll = '5s'").unwrap_err();
/// let problem = &refused.problems()[0];
/// assert_eq!(problem.kind, ProblemKind::UnknownKey);
/// assert_eq!(problem.place.as_deref(), Some("line 2"));
/// let text = "line 2: unknown key `tll` in `[defaults]`; did you mean `ttl`?";
/// assert_eq!(problem.to_string(), text);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
#[non_exhaustive]
pub struct Problem {
    /// The kind, which says who can mend the problem.
    pub kind: ProblemKind,
    /// The place in the configuration: `redlock.toml: line 4`, or the name of a variable. `None` if code set the value,
    /// or if a server or a function is at fault.
    pub place: Option<String>,
    /// The names of the pools that are at fault; empty if no pool is.
    pub pools: Vec<String>,
    /// The name of the annotated function, or of the override, that is at fault.
    pub site: Option<String>,
    text: String,
}

/// The kind of a problem, by who can mend it.
///
/// ```
/// use redlock_runtime::error::{InitError, ProblemKind};
///
/// /// True if the same program may start later with the same configuration.
/// fn may_start_later(refused: &InitError) -> bool {
///     refused.problems().iter().all(|problem| match problem.kind {
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
    /// The configuration file, or the file of a password, certificate or key, cannot be read, or has other content. Look
    /// at its mount and its permissions. A file that is just being written can be read again.
    Unreadable,
    /// There is no such key or variable. Correct its name, or start the version of the program that knows it.
    UnknownKey,
    /// A value that is not allowed: of a key, of a variable, of a setter, or of an attribute if no
    /// [place](Problem#structfield.place) is known. Correct the configuration or the program.
    InvalidValue,
    /// No pool is configured. Give the program its configuration.
    NoPools,
    /// A name that is not the name of exactly one configured pool. Configure the pool, or correct the name.
    UnknownPool,
    /// An override whose name is not the name of exactly one function. Correct the name, or leave the override out of the
    /// configuration of this program.
    UnknownSite,
    /// A server that a lock cannot rely on: it evicts keys, is a replica, is the server of two pools, or has the marker
    /// of another wire format. Page whoever runs the servers, and for a wire format whoever deploys the versions.
    RefusedServer,
    /// The servers refuse the login, the database, the certificate, or commands that the restart check or a function
    /// needs. Page whoever keeps the passwords and ACLs; a start after that succeeds.
    Denied,
    /// The closure of [`Config::pool_node`](crate::Config::pool_node) failed. Try again if its own error says so.
    NodeNotMade,
    /// The process has a registry already, or was forked from one that has. Correct the program: it calls
    /// [`init`](crate::init()) twice, or in a child of the process that called it.
    AlreadyRunning,
    /// The system has no thread for the library. Raise the limits of the process, or try again.
    NoThread,
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

    /// Returns the problem at a place of the configuration; `None` if code sets the value.
    pub(crate) fn at(mut self, place: impl Into<Option<String>>) -> Self {
        self.place = place.into();
        match self.place.clone() {
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

    /// Checks that there is no problem.
    ///
    /// # Errors
    /// The error with all problems.
    pub(crate) fn none_of<E>(all: Vec<Self>, error: fn(Vec<Self>) -> E) -> Result<(), E> {
        if all.is_empty() {
            Ok(())
        } else {
            Err(error(all))
        }
    }
}
