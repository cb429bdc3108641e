//! A problem of a configuration or of a start, with its kind, its place and its text.

use std::fmt;

use crate::text::ShownName;

/// A problem that made the library refuse a configuration or a start.
///
/// The text, by `Display`, has the place of the problem and the fix. The text shows no password of the configuration,
/// because a name that may be a URL is replaced. If the problem is the error of a node of your own, the text has that
/// error's words, but leaves out words that may be URLs.
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
    /// The kind of the problem, which says who can fix it.
    pub kind: ProblemKind,
    /// The place in the configuration: `redlock.toml: line 4`, or the name of a variable. `None` if code set the value,
    /// or if a server or a function is at fault.
    pub place: Option<String>,
    /// The names of the pools that the problem concerns. Empty if it concerns none.
    pub pools: Vec<String>,
    /// The name of the annotated function, or of the override, that the problem concerns.
    pub site: Option<String>,
    text: String,
}

/// The kind of a problem, by the people who can fix it.
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
    /// The configuration file is unreadable or is not TOML, or a file that it names is unreadable or has the wrong
    /// content. Check the file's mount and permissions. If something is writing the file right now, read it again.
    Unreadable,
    /// The name of a key or variable is unknown. Correct it, or start the version of the program that knows it.
    UnknownKey,
    /// The value of a key, a variable or a setter is invalid. If the [place](Problem#structfield.place) is `None`, it
    /// may also be the value of an attribute. Correct the configuration or the program.
    InvalidValue,
    /// The configuration has no pool. Give the program its configuration.
    NoPools,
    /// A name fits no configured pool, or more than one. Configure the pool, or correct the name.
    UnknownPool,
    /// The name of an override fits no function, or more than one. Correct the name, or remove the override from this
    /// program's configuration.
    UnknownSite,
    /// A lock cannot rely on this server: it evicts keys, is a replica, serves two pools, or has the marker of another
    /// wire format. Alert the people who run the servers, and for a wire format the people who deploy the versions.
    RefusedServer,
    /// The servers refuse the login, the database, the certificate, or commands that the restart check or a function
    /// needs. Alert the people who manage the passwords and ACLs. Once they have corrected it, the program can start.
    Denied,
    /// The closure of [`Config::pool_node`](crate::Config::pool_node) failed. Try again if its own error says so.
    NodeNotMade,
    /// The process already has a registry, or was forked from one that has. Correct the program: it
    /// calls [`init`](crate::init()) twice, or in a child of the process that called it.
    AlreadyRunning,
    /// The system refused a thread for the library. Raise the limits of the process, or try again.
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

    /// Creates the problem of an invalid value.
    pub(crate) fn invalid(text: impl Into<String>) -> Self {
        Self::new(ProblemKind::InvalidValue, text)
    }

    /// Puts `heading` before the text of the problem.
    pub(crate) fn under(mut self, heading: impl fmt::Display) -> Self {
        self.text.insert_str(0, &heading.to_string());
        self
    }

    /// Sets the place of the problem in the configuration. `None` means that code set the value.
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

    /// Succeeds if the list of problems is empty.
    ///
    /// # Errors
    /// Returns the error with all problems.
    pub(crate) fn none_of<E>(all: Vec<Self>, error: fn(Vec<Self>) -> E) -> Result<(), E> {
        if all.is_empty() {
            Ok(())
        } else {
            Err(error(all))
        }
    }
}
