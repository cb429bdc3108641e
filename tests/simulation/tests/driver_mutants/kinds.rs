//! The mutants of permits, of readers and of writers.

use crate::table::{Mutant, Patch};

const COMMAND: &str = "redlock-core/src/redis/protocol/command/mod.rs";
const ENDS: &str = "redlock-core/src/redis/server/serve/ends.rs";
const PERMITS: &str = "redlock-core/src/redis/protocol/command/permits.rs";
const SHARING: &str = "redlock-core/src/redis/protocol/command/sharing.rs";

pub(crate) const KINDS: &[Mutant] = &[
    Mutant {
        name: "permits-sent-again-behind-their-release",
        patches: &[Patch {
            file: ENDS,
            find: "        if !want.is_acquisition() && !matches!(want, Want::Restore { .. } | Want::Extend { .. }) {
",
            replace: "        if !matches!(want, Want::Acquire { .. } | Want::Restore { .. } | Want::Extend { .. }) {
",
        }],
    },
    Mutant {
        name: "permits-in-another-order",
        patches: &[Patch {
            file: PERMITS,
            find: "    let free = permits.iter().zip(*bits)",
            replace: "    let free = permits.iter().rev().zip(*bits)",
        }],
    },
    Mutant {
        name: "a-reader-is-released-as-a-plain-lock",
        patches: &[Patch {
            file: COMMAND,
            find: "    if let Some(sharing) = operation.sharing() {
        return sharing::script_call",
            replace: "    let is_release = matches!(operation.want(), Want::Release { .. });
    if let Some(sharing) = operation.sharing().filter(|_| !is_release) {
        return sharing::script_call",
        }],
    },
    Mutant {
        name: "a-writer-goes-in-beside-readers",
        patches: &[Patch {
            file: SHARING,
            find: "        Value::Bulk([b'r']) => Answer::Held(Holding::readers()),
",
            replace: "        Value::Bulk([b'r']) => Answer::GRANTED,
",
        }],
    },
];
