//! The kinds of locks. A room has all of its kind.
#![expect(dead_code, reason = "nodes do not call scripts yet")]
#![expect(
    clippy::unnecessary_wraps,
    reason = "twins have one type, also where no command can fail"
)]

mod exclusive;
mod fenced;
mod looks;
mod permits;
mod readers_writers;
mod runs;
mod words;

use crate::node::script::Script;

/// All scripts, for the connections that load them and for the tests that run them.
pub(crate) fn scripts() -> impl Iterator<Item = &'static Script> {
    [
        exclusive::SCRIPTS,
        fenced::SCRIPTS,
        looks::SCRIPTS,
        permits::SCRIPTS,
        readers_writers::SCRIPTS,
        runs::SCRIPTS,
    ]
    .into_iter()
    .flatten()
    .copied()
}

/// A Lua function that names the commands which a user may not run.
pub(crate) const DENIED: &str = include_str!("denied.lua");

/// Calls of the commands that kinds need beside those of every lock, on a Lua variable `key`.
pub(crate) fn beyond() -> String {
    [readers_writers::COMMANDS].join(",\n")
}
