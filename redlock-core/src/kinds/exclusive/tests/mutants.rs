//! The mutants of locks that one holder has, for `tests/simulation`.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const ACQUIRE: &str = "redlock-core/src/kinds/exclusive/acquire.rs";
const EXTEND: &str = "redlock-core/src/kinds/exclusive/extend.rs";
const RELEASE: &str = "redlock-core/src/kinds/exclusive/release.rs";

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "acquire-without-nx",
        patches: &[Patch {
            file: ACQUIRE,
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
            file: RELEASE,
            find: "            Ok(held) if held == arguments.first().copied() => {
",
            replace: "            Ok(_) => {
",
        }],
        profile: "faulty",
        breaks: Invariant::ForeignRelease,
    },
    Mutant {
        name: "extension-by-set",
        patches: &[Patch {
            file: EXTEND,
            find: "            Ok(Some(held)) => return Ok(Value::text(held)),
",
            replace: "            Ok(Some(_)) => {}
",
        }, Patch {
            file: EXTEND,
            find: "        live(store, key, integer(arguments, 1)?);
",
            replace: "        store.set(key, word(arguments, 0)?, integer(arguments, 1)?)?;
",
        }],
        profile: "faulty",
        breaks: Invariant::ForeignChange,
    },
];
