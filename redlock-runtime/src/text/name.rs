//! Names from outside, as errors show them.

use std::collections::BTreeMap;
use std::fmt;

use redlock_core::Resource;

/// A name from a configuration. It is shown on one short line. It is not shown if it may be a URL
/// in the wrong place, as a URL may contain a password.
pub(crate) struct ShownName<'a>(pub(crate) &'a str);

impl fmt::Display for ShownName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.contains("://") || self.0.contains('@') {
            return f.write_str("(a URL, which is not shown)");
        }
        // A resource's name is shown so that it is safe in a line of log.
        Resource::from(self.0).fmt(f)
    }
}

impl fmt::Debug for ShownName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{self}`")
    }
}

/// Returns a text of the user's code on one line, without words that may be URLs. A URL may contain a password.
pub(crate) fn shown_text(text: &str) -> String {
    let text = text.replace('`', "'");
    let words = text
        .split_whitespace()
        .map(|word| ShownName(word).to_string());
    words.collect::<Vec<_>>().join(" ")
}

/// A map with names as keys, for `Debug`.
pub(crate) struct NamedMap<'a, T>(pub(crate) &'a BTreeMap<String, T>);

impl<T: fmt::Debug> fmt::Debug for NamedMap<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.0.iter().map(|(name, value)| (ShownName(name), value));
        f.debug_map().entries(entries).finish()
    }
}
