//! The mutants of locks that one holder has, for `tests/simulation`.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const SCRIPTS: &str = "redlock-core/src/kinds/exclusive/scripts.rs";

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "acquire-without-nx",
        patches: &[Patch {
            file: SCRIPTS,
            find: "    store.set_nx(key, token, ttl)?;
",
            replace: "    store.set(key, token, ttl)?;
    let held: Result<Option<Value>, Value> = held.map(|_| None);
",
        }],
        profile: "calm",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "release-by-plain-del",
        patches: &[Patch {
            file: SCRIPTS,
            find: "        Some(held) if Some(&&*held) == token => {
",
            replace: "        Some(_) if token.is_some() => {
",
        }],
        profile: "faulty",
        breaks: Invariant::ForeignRelease,
    },
    Mutant {
        name: "extension-by-set",
        patches: &[Patch {
            file: SCRIPTS,
            find: "            Ok(held) if held == arguments.first().copied() => {}
",
            replace: "            Ok(_) if true => {}
",
        }, Patch {
            file: SCRIPTS,
            find: "        live(store, key, integer(arguments, 1)?);
",
            replace: "        store.set(key, word(arguments, 0)?, integer(arguments, 1)?)?;
",
        }],
        profile: "faulty",
        breaks: Invariant::ForeignChange,
    },
];
