//! The mutants of readers and writers, for `tests/simulation`.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const KIND: &str = "redlock-core/src/kinds/readers_writers/mod.rs";
const ANY_KIND: &str = "redlock-core/src/quorum/kind.rs";
const SCRIPTS: &str = "redlock-core/src/kinds/readers_writers/scripts.rs";
const ATTEMPT: &str = "redlock-core/src/client/attempt.rs";

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "an-extension-revives-an-entry",
        patches: &[Patch {
            file: SCRIPTS,
            find: "        if ends.is_none_or(|ends| ends <= store.millis()) {
",
            replace: "        if ends.is_none_or(|ends| ends <= store.millis()) && !is_read {
",
        }],
        profile: "sharing",
        breaks: Invariant::Entry,
    },
    Mutant {
        name: "readers-without-a-marker",
        patches: &[Patch {
            file: SCRIPTS,
            find: "        store.set(key, READERS_MARKER, life)?;
",
            replace: "",
        }],
        profile: "sharing",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "a-marker-for-the-reader-that-came-last",
        patches: &[Patch {
            file: SCRIPTS,
            find: "        store.pexpire(key, life);
",
            replace: "        store.pexpire(key, ends - now);
",
        }],
        profile: "sharing",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "a-reader-takes-the-marker-of-the-others-along",
        patches: &[Patch {
            file: SCRIPTS,
            find: "            settle(store, (key, readers), is_read, None)?;
",
            replace: "            store.del(key);
",
        }],
        profile: "sharing",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "a-reader-takes-another-readers-entry-along",
        patches: &[Patch {
            file: SCRIPTS,
            find: "    if store.zrem(readers, token)? {
",
            replace: "    let mut others = store.entries(readers)?.keys();
    let reader = others.find(|reader| ***reader != *token).cloned();
    reader.map(|it| store.zrem(readers, &it)).transpose()?;
    if store.zrem(readers, token)? {
",
        }],
        profile: "sharing",
        breaks: Invariant::Entry,
    },
    Mutant {
        name: "an-extension-moves-an-entry-back",
        patches: &[Patch {
            file: SCRIPTS,
            find: "        store.zadd(readers, till, token)?;
",
            replace: "        store.zrem(readers, token)?;
        store.zadd(readers, till, token)?;
",
        }],
        profile: "sharing",
        breaks: Invariant::Entry,
    },
    Mutant {
        name: "a-writer-beside-readers",
        patches: &[Patch {
            file: SCRIPTS,
            find: "if !store.entries(readers)?.is_empty() {",
            replace: "if false {",
        }],
        profile: "sharing",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "a-reader-is-put-back-beside-a-writer",
        patches: &[Patch {
            file: SCRIPTS,
            find: "    if let Some(holder) = other {
        return Ok(Value::Text(holder));
    }
    if arguments",
            replace: "    if let Some(holder) = other
        && !arguments.ends_with(&[b\"back\"])
    {
        return Ok(Value::Text(holder));
    }
    if arguments",
        }],
        profile: "sharing",
        breaks: Invariant::ForeignChange,
    },
    Mutant {
        name: "a-failed-attempt-takes-the-intent-back",
        patches: &[Patch {
            file: KIND,
            find: "        if !is_lease {
",
            replace: "        if !is_lease && false {
",
        }],
        profile: "sharing",
        breaks: Invariant::Intent,
    },
    Mutant {
        name: "a-counter-at-the-writers-token",
        patches: &[Patch {
            file: ANY_KIND,
            find: "        count.saturating_sub(1)
",
            replace: "        count
",
        }],
        profile: "sharing",
        breaks: Invariant::TokenUnique,
    },
    Mutant {
        name: "a-writer-that-takes-the-number-of-readers",
        patches: &[Patch {
            file: SCRIPTS,
            find: "counted(store, counters, 2, ",
            replace: "counted(store, counters, 1, ",
        }],
        profile: "sharing",
        breaks: Invariant::TokenUnique,
    },
    Mutant {
        name: "a-readers-token-not-confirmed",
        patches: &[Patch {
            file: ATTEMPT,
            find: "        agree(context, &claim, &acquisition, until).await
",
            replace: "        let is_reader = request.kind == crate::request::Kind::Read;
        let unconfirmed = || TokenChoice::of(&acquisition.answers_now(&claim.nodes));
        match is_reader.then(unconfirmed).flatten() {
            Some(choice) => Agreement {
                count: Some(choice.count),
                disagreement: None,
            },
            None => agree(context, &claim, &acquisition, until).await,
        }
",
        }],
        profile: "sharing",
        breaks: Invariant::TokenOrder,
    },
    Mutant {
        name: "a-reader-waits-for-nothing",
        patches: &[Patch {
            file: SCRIPTS,
            find: "(Some(holder), _) => Some",
            replace: "(Some(holder), _) if false => Some",
        }],
        profile: "sharing",
        breaks: Invariant::Exclusion,
    },
];
