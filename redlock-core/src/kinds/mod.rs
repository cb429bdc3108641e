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
        runs::SCRIPTS,
    ]
    .into_iter()
    .flatten()
    .copied()
}
