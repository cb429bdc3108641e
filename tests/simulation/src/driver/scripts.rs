//! The scripts that servers know. They run the twins, which a test compares with a real server.

use redlock_core::node::{Code, Script};
use redlock_core::testing::scripts;

/// A command's words.
pub(super) type Words<'a> = &'a [Vec<u8>];

/// The script that `EVAL` calls by its text, and `EVALSHA` by its hash, if it is one of ours.
pub(super) fn called(is_text: bool, word: &[u8]) -> Option<&'static Script> {
    scripts().find(|script| match script.text() {
        Some(text) if is_text => text.as_bytes() == word,
        Some(_) => script.sha().as_bytes() == word,
        None => false,
    })
}

/// The command with the name `word`, if the command takes or shows a lock.
pub(super) fn command(word: &[u8]) -> Option<&'static Script> {
    scripts().find(|script| matches!(script.code(), Code::Command(name) if name.as_bytes() == word))
}
