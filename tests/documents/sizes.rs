//! How long a document may be, and what the changelog may have in it.

use std::path::Path;

use crate::GUIDE;
use crate::markdown::{headings, words};

/// The most words of the document at `path`, if it has a bound.
fn limit_of(path: &Path) -> Option<usize> {
    if let Ok(page) = path.strip_prefix(GUIDE) {
        // What is looked up, and not read through.
        let is_for_reference = page.starts_with("reference") || page == Path::new("SUMMARY.md");
        return (!is_for_reference).then_some(1_000);
    }
    match path.to_str() {
        Some("README.md") => Some(1_100),
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

/// The faults of the changelog. Until the first release it may only say what was added: no user has
/// an earlier version in which something was changed, fixed or removed.
pub(crate) fn changes_of_the_unreleased(changelog: &str) -> Vec<String> {
    let headings = headings(changelog);
    let versions = headings.iter().filter(|(level, _)| *level == 2);
    if versions.count() > 1 {
        return Vec::new();
    }
    let kinds = headings.iter().filter(|(level, _)| *level == 3);
    kinds
        .filter(|(_, kind)| kind != "Added")
        .map(|(_, kind)| format!("CHANGELOG.md has `{kind}`, and there is no release"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_that_is_too_long_is_found() {
        let long = "word ".repeat(1_101);
        let excess = |path: &str| excess(Path::new(path), &long);
        let expected = "README.md has 1101 words; at most 1100";
        assert_eq!(excess("README.md").as_deref(), Some(expected));
        let expected = "CHANGELOG.md has 1101 words; at most 500";
        assert_eq!(excess("CHANGELOG.md").as_deref(), Some(expected));
        let expected = "redlock-runtime/guide/tasks/wait.md has 1101 words; at most 1000";
        let found = excess("redlock-runtime/guide/tasks/wait.md");
        assert_eq!(found.as_deref(), Some(expected));
        assert_eq!(excess("ARCHITECTURE.md"), None);
        assert_eq!(excess("redlock-runtime/guide/reference/errors.md"), None);
        assert_eq!(excess("redlock-runtime/guide/SUMMARY.md"), None);
        assert_eq!(excess("benches/RESULTS.md"), None);
    }

    #[test]
    fn a_fix_of_something_that_nobody_has_is_found() {
        let changelog = "# Changelog\n## [Unreleased]\n### Added\n* A.\n### Fixed\n* B.\n";
        let expected = ["CHANGELOG.md has `Fixed`, and there is no release"];
        assert_eq!(changes_of_the_unreleased(changelog), expected);
        let released = format!("{changelog}## [0.1.0]\n### Added\n");
        assert!(changes_of_the_unreleased(&released).is_empty());
    }
}
