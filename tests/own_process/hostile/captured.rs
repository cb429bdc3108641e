//! Everything that this process logs, at every level, and what must not be in it.

use redlock_tests::lines;

/// Planted wherever a secret can stand; shown nowhere.
pub(crate) const SECRET: &str = "hunter2Xq";

/// Begins to take what is logged, for the rest of the process.
pub(crate) fn begin() {
    lines();
}

/// All of it so far.
pub(crate) fn text() -> String {
    lines().text()
}

/// Asserts that no line so far has the planted secret.
pub(crate) fn assert_without_secret() {
    let text = text();
    assert!(!text.is_empty(), "nothing was captured");
    if let Some(line) = text.lines().find(|line| line.contains(SECRET)) {
        panic!("the log has a secret: {line}");
    }
}
