//! The mutants of locks that one holder has, for `tests/simulation`.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const SCRIPTS: &str = "redlock-core/src/kinds/exclusive/scripts.rs";

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "acquire-without-nx",
        patches: &[Patch {
            file: SCRIPTS,
            find: "    store.set_nx(keys[0], arguments[0], number(arguments[1])?)?;
",
            replace: "    store.set(keys[0], arguments[0], number(arguments[1])?)?;
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
            find: "        Some(held) if held[..] == **token => {
",
            replace: "        Some(_) if !token.is_empty() => {
",
        }],
        profile: "faulty",
        breaks: Invariant::ForeignRelease,
    },
    Mutant {
        name: "extension-by-set",
        patches: &[Patch {
            file: SCRIPTS,
            find: "            Ok(Some(held)) if held == arguments[0] => {}
",
            replace: "            Ok(Some(_)) if true => {}
",
        }, Patch {
            file: SCRIPTS,
            find: "        live(store, key, ttl);
",
            replace: "        store.set(key, arguments[0], ttl)?;
",
        }],
        profile: "faulty",
        breaks: Invariant::ForeignChange,
    },
];
