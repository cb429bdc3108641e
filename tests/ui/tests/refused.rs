//! What the attribute refuses, and in which words.

use std::path::Path;

use expect_test::expect_file;

use crate::compiler::{compile, rustc};
use crate::diagnostic::Diagnostic;
use crate::project::{Project, TESTS, cases, fixture};
use crate::words::words;

/// Asserts that rustc refused `case`, in the words of the file beside it.
fn assert_refused(case: &Path, found: &[Diagnostic]) {
    let is_refused = found.iter().any(|found| found.is_error);
    assert!(is_refused, "{} compiles", case.display());
    let words: Vec<String> = found.iter().map(|found| words(found.text())).collect();
    expect_file![case.with_extension("stderr")].assert_eq(&words.join("\n"));
}

/// Asserts that each case in `folder` is refused, and that there are at least so many.
fn assert_all_refused(folder: &str, least: usize) {
    let cases = cases(&[folder]);
    assert!(cases.len() >= least, "{} cases are left", cases.len());
    for (_, case) in cases {
        assert_refused(&case, &compile(&case, Path::new(TESTS), "redlock_runtime"));
    }
}

/// The compiler whose words are compared, if the attribute passed on the code that they are about.
const PINNED: &str = "rustc 1.95.";

/// Returns false with another compiler, which has other words, and says how many cases that leaves out.
fn has_pinned_words(cases: usize) -> bool {
    let version = rustc().arg("--version").output().expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout);
    let is_pinned = version.starts_with(PINNED);
    if !is_pinned {
        println!(
            "not compared: {cases} cases, as the messages are of {PINNED}x and this is {version}"
        );
    }
    is_pinned
}

/// Messages of the attribute's own: the same on every toolchain.
#[test]
fn refused_in_our_words() {
    assert_all_refused("fail", 20);
}

#[test]
fn a_runtime_of_another_name_hears_of_the_parameter_crate() {
    let folder = Path::new(TESTS).join("fail/renamed");
    let found = compile(&folder.join("main.rs"), &folder, "our_locks");
    let found: Vec<&str> = found.iter().map(|found| &*found.message).collect();
    let message = "Cargo.toml calls the runtime `our_locks`; write `crate = ::our_locks`";
    assert_eq!(found, [message]);
}

#[test]
fn refused_in_the_words_of_rustc() {
    let folder = "fail/rustc";
    if has_pinned_words(cases(&[folder]).len()) {
        assert_all_refused(folder, 20);
    }
}

/// Asserts that a runtime without features refuses a case. The workspace's build has all features, so cargo checks the
/// runtime once more.
fn assert_refused_without_features(name: &str) {
    let case = fixture(&format!("featureless/{name}.rs"));
    if has_pinned_words(1) {
        let bin = format!("{name}-2024");
        let report = Project::get().check(&["--package", "fixtures-2024", "--bin", &bin]);
        assert_refused(&case, &report.diagnostics);
    }
}

#[test]
fn featureless_runtimes_refuse_handlers() {
    assert_refused_without_features("responses");
}

#[test]
fn featureless_runtimes_break_no_node() {
    assert_refused_without_features("faults");
}
