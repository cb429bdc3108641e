//! The mutants of readers and writers that the simulation of the node driver catches.

use crate::table::{Mutant, Patch};

const KIND: &str = "redlock-core/src/kinds/readers_writers/kind.rs";

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "a-reader-is-released-as-a-plain-lock",
        patches: &[Patch {
            file: KIND,
            find: "        let shared = &self.shared;
        Call::new(&RELEASE_SHARED",
            replace: "        if true {
            return exclusive::release(&self.shared.keys, token, until);
        }
        let shared = &self.shared;
        Call::new(&RELEASE_SHARED",
        }],
    },
    Mutant {
        name: "a-writer-goes-in-beside-readers",
        patches: &[Patch {
            file: KIND,
            find: "        Value::Text(text) => text,
",
            replace: "        Value::Text(text) if *text == *b\"r\" => return Some(Vote::GRANTED),
        Value::Text(text) => text,
",
        }],
    },
];
