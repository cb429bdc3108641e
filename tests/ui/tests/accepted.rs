//! What the attribute accepts: every case of `pass` compiles, with its own lints denied, and so do
//! those of `pass/other_macros`, beside the attributes of other crates and as handlers of theirs.
//! `cargo check` is enough for that: nothing is linked or run.

use std::path::Path;

use crate::diagnostic::Diagnostic;
use crate::project::{ACCEPTED, FIRST, Project, REFUSED, cases};

#[test]
fn every_case_compiles() {
    let report = Project::get().check(&["--package", "accepted", "--bins"]);
    let cases = cases(&ACCEPTED);
    let refused: Vec<&str> = cases
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| !report.accepted.iter().any(|target| target == name))
        .collect();
    let errors = report.diagnostics.iter().filter(|found| found.is_error);
    let errors = errors.filter(|found| !is_in(REFUSED, found));
    let errors: Vec<&str> = errors.map(Diagnostic::text).collect();
    assert!(
        refused.is_empty(),
        "{} of {} cases do not compile: {refused:?}\n{}\n{}",
        refused.len(),
        cases.len(),
        errors.concat(),
        report.stderr,
    );
    assert!(cases.len() >= 20, "{} cases are left", cases.len());
}

#[test]
fn the_programs_of_the_readme_compile_as_they_are() {
    let [axum, actix] = FIRST;
    let report = Project::get().check(&["--package", axum, "--package", actix]);
    let drawn: Vec<&str> = report.diagnostics.iter().map(Diagnostic::text).collect();
    assert!(drawn.is_empty(), "{}", drawn.concat());
    for name in FIRST {
        let is_accepted = report.accepted.iter().any(|target| target == name);
        assert!(is_accepted, "{name}: {}", report.stderr);
    }
}

/// actix-web's attributes above have made the function synchronous, as tokio's do.
#[test]
fn below_the_attribute_of_actix_the_order_is_named() {
    let report = Project::get().check(&["--package", "accepted", "--bins"]);
    let found = report
        .diagnostics
        .iter()
        .filter(|found| is_in(REFUSED, found));
    let found: Vec<_> = found.collect();
    let messages: Vec<(bool, &str)> = found
        .iter()
        .map(|found| (found.is_error, &*found.message))
        .collect();
    let message = "the attribute above has already made this function synchronous; annotate an \
                   `async` function that this one calls";
    assert_eq!(messages, [(true, message)]);
    let places: Vec<_> = found[0].primary().map(|span| span.from).collect();
    assert_eq!(places, [(6, 7)]);
}

fn is_in(folder: &str, found: &Diagnostic) -> bool {
    let in_folder = |path: &Path| path.parent().is_some_and(|parent| parent.ends_with(folder));
    found.primary().any(|span| in_folder(&span.file))
}
