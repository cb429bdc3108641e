//! What log lines have in common, so that one of them a second is enough.

use tracing::Level;

/// What many log lines have in common, so that one of them a second is enough.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Cause {
    /// The level of the lines.
    pub level: Level,
    /// The text of the lines.
    pub text: &'static str,
    /// The other things that they have in common.
    pub about: About,
}

/// The fields that all lines of a [`Cause`] have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct About {
    /// The function whose calls the lines are about.
    pub site: Option<&'static str>,
    /// The pools whose nodes the lines are about.
    pub pools: Option<String>,
    /// The reason, as a word.
    pub reason: Option<&'static str>,
}

impl About {
    /// Lines about the calls of one function.
    pub fn site(site: &'static str) -> Self {
        Self {
            site: Some(site),
            ..Self::default()
        }
    }

    /// Lines about one set of nodes, by the names of its pools.
    pub fn pools(pools: String) -> Self {
        Self {
            pools: Some(pools),
            ..Self::default()
        }
    }

    /// The same for one reason.
    #[must_use]
    pub fn reason(mut self, reason: &'static str) -> Self {
        self.reason = Some(reason);
        self
    }
}
