//! Shows names from outside in errors.

use std::collections::BTreeMap;
use std::fmt;

use redlock_core::Resource;

/// A name from a configuration, for display on one short line. A name that may be a URL is replaced, because a URL may
/// contain a password.
pub(crate) struct ShownName<'a>(pub(crate) &'a str);

impl fmt::Display for ShownName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains("://") || self.0.contains('@') {
            return f.write_str("(a URL, which is not shown)");
        }
        // A resource's name is always shown so that it is safe in a log line.
        Resource::from(self.0).fmt(f)
    }
}

impl fmt::Debug for ShownName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

/// Returns a text of the user's code on one line. Words that may be URLs are replaced, because a URL may contain a
/// password.
pub(crate) fn shown_text(text: &str) -> String {
    let text = text.replace('`', "'");
    let words = text
        .split_whitespace()
        .map(|word| ShownName(word).to_string());
    words.collect::<Vec<_>>().join(" ")
}

/// A map with names as keys, for `Debug` output without passwords.
pub(crate) struct NamedMap<'a, T>(pub(crate) &'a BTreeMap<String, T>);

impl<T: fmt::Debug> fmt::Debug for NamedMap<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.0.iter().map(|(name, value)| (ShownName(name), value));
        f.debug_map().entries(entries).finish()
    }
}
