//! The limits for the lengths of documents.

use std::path::Path;

use crate::GUIDE;
use crate::markdown::words;

/// The most words of all pages of the guide together.
pub(crate) const GUIDE_WORDS: usize = 35_000;

/// Returns the most words of the document at `path`, if it has a bound.
fn limit_of(path: &Path) -> Option<usize> {
    if let Ok(page) = path.strip_prefix(GUIDE) {
        // What is looked up, and not read through.
        let is_for_reference = page.starts_with("reference") || page == Path::new("SUMMARY.md");
        return (!is_for_reference).then_some(1_000);
    }
    match path.to_str() {
        Some("README.md") => Some(1_200),
        Some("CHANGELOG.md") => Some(500),
        _ => None,
    }
}

/// By how much the document at `path` is too long, if it is.
pub(crate) fn excess(path: &Path, text: &str) -> Option<String> {
    let (length, most) = (words(text), limit_of(path)?);
    let path = path.display();
    (length > most).then(|| format!("{path} has {length} words; at most {most}"))
}
