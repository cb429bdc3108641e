//! What has to be said first of elections.

use std::fs;

use crate::root;

#[test]
fn l10_the_first_paragraph_says_what_an_election_does_not_promise() {
    let first_of = |path: &str, prefix: &str| {
        let text = fs::read_to_string(root().join(path)).expect("a file");
        let lines = text.lines().map(|line| {
            let line = line.strip_prefix(prefix).unwrap_or(line);
            line.trim().to_owned()
        });
        let lines: Vec<_> = lines.filter(|line| !line.starts_with("# ")).collect();
        let paragraphs = lines.split(String::is_empty);
        let first = paragraphs.into_iter().find(|lines| !lines.is_empty());
        first.expect("a paragraph").join(" ")
    };
    for (path, prefix) in [
        ("redlock-runtime/src/election/mod.rs", "//!"),
        ("redlock-runtime/guide/tasks/elections.md", ""),
    ] {
        let first = first_of(path, prefix);
        let says = |text: &str| {
            assert!(
                first.contains(text),
                "{path} does not say {text:?}: {first}"
            );
        };
        says("An election does not promise that there is never more than one leader.");
        says("stands still");
        says("fencing token");
        says("at every moment");
    }
}
