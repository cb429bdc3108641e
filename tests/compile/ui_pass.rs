//! What the attribute accepts: every file of `ui/pass` compiles, with its own lints denied.

#[test]
fn accepted() {
    trybuild::TestCases::new().pass("ui/pass/*.rs");
}

/// Beside the attributes of other crates, and as handlers of theirs.
#[test]
fn accepted_beside_other_macros() {
    trybuild::TestCases::new().pass("ui/pass-other-macros/*.rs");
}
