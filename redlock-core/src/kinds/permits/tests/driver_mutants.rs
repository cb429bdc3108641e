//! The mutants of permits that the simulation of the node driver catches.

use crate::table::{Mutant, Patch};

const ENDS: &str = "redlock-core/src/redis/server/serve/ends.rs";
const KIND: &str = "redlock-core/src/kinds/permits/kind.rs";

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "permits-sent-again-behind-their-release",
        patches: &[Patch {
            file: ENDS,
            find: "call.token().filter(|_| !call.is_release())",
            replace: "call.token().filter(|_| {
            !call.is_release() && call.script().name() != \"acquire-permit\"
        })",
        }],
    },
    Mutant {
        name: "permits-in-another-order",
        patches: &[Patch {
            file: KIND,
            find: "    let free = (0..).zip(bits)",
            replace: "    let free = (0..).zip(bits.iter().rev())",
        }],
    },
];
