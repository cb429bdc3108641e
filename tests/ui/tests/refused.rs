//! What the attribute refuses, and in which words.

use crate::project::{Project, cases};

/// Messages of the attribute's own: the same on every toolchain.
#[test]
fn refused_in_our_words() {
    trybuild::TestCases::new().compile_fail("fail/*.rs");
}

#[test]
fn a_runtime_of_another_name_hears_of_the_parameter_crate() {
    let report = Project::get().check(&["--package", "renamed"]);
    let found = report.diagnostics.iter();
    let found: Vec<&str> = found.map(|found| &*found.message).collect();
    let message = "Cargo.toml calls the runtime `our_locks`; write `crate = ::our_locks`";
    assert_eq!(found, [message], "{}", report.stderr);
}

/// The compiler whose words `fail/rustc` has.
const PINNED: &str = "rustc 1.95.";

/// Messages of rustc's, about code that the attribute passed on. Another compiler has other words:
/// there the test compares nothing, and says how many cases it left out.
#[test]
fn refused_in_the_words_of_rustc() {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let version = std::process::Command::new(rustc)
        .arg("--version")
        .output()
        .expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout);
    if !version.starts_with(PINNED) {
        let cases = cases(&["fail/rustc"]).len();
        println!(
            "not compared: {cases} cases, as the messages are of {PINNED}x and this is {version}"
        );
        return;
    }
    trybuild::TestCases::new().compile_fail("fail/rustc/*.rs");
}
