//! The mutants of readers and writers.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const ATTEMPT: &str = "redlock-core/src/client/attempt.rs";
const CLAIM: &str = "redlock-core/src/quorum/claim/sharing.rs";
const FENCING: &str = "redlock-core/src/quorum/fencing.rs";
const STORE: &str = "redlock-core/src/memory/store.rs";
const MEMORY: &str = "redlock-core/src/memory/sharing.rs";

pub(crate) const SHARING: &[Mutant] = &[
    Mutant {
        name: "readers-without-a-marker",
        patches: &[Patch {
            file: MEMORY,
            find: "        if let Some(last) = last {
            self.store.put(&key, READERS_MARKER, last);
",
            replace: "        if let Some(last) = last {
            self.store.put(&key, READERS_MARKER, last);
            self.store.delete(&key);
",
        }],
        profile: "sharing",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "a-marker-for-the-reader-that-came-last",
        patches: &[Patch {
            file: MEMORY,
            find: "        *ends = until.max(*ends);
        self.settle();
",
            replace: "        *ends = until.max(*ends);
        self.settle();
        let key = Arc::clone(&self.key);
        self.store.put(&key, READERS_MARKER, until);
",
        }],
        profile: "sharing",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "a-reader-takes-the-marker-of-the-others-along",
        patches: &[Patch {
            file: MEMORY,
            find: "            if found == Found::Readers {
                self.settle();
            }
            return Answer::GRANTED;
",
            replace: "            let key = Arc::clone(&self.key);
            self.store.delete(&key);
            return Answer::GRANTED;
",
        }],
        profile: "sharing",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "a-reader-takes-another-readers-entry-along",
        patches: &[Patch {
            file: MEMORY,
            find: "readers.is_some_and(|readers| readers.remove(token).is_some())",
            replace: "readers.is_some_and(|readers| {
            let other = readers.keys().find(|reader| ***reader != *token).cloned();
            other.map(|other| readers.remove(&other));
            readers.remove(token).is_some()
        })",
        }],
        profile: "sharing",
        breaks: Invariant::Entry,
    },
    Mutant {
        name: "an-extension-revives-an-entry",
        patches: &[Patch {
            file: MEMORY,
            find: "        if self.ends().is_none() {
            return self.missing();
        }
        self.enter(",
            replace: "        if self.ends().is_none() && self.found() != Found::Readers {
            return self.missing();
        }
        self.enter(",
        }],
        profile: "sharing",
        breaks: Invariant::Entry,
    },
    Mutant {
        name: "an-extension-moves-an-entry-back",
        patches: &[Patch {
            file: MEMORY,
            find: "*ends = until.max(*ends);",
            replace: "*ends = until;",
        }],
        profile: "sharing",
        breaks: Invariant::Entry,
    },
    Mutant {
        name: "a-writer-beside-readers",
        patches: &[Patch {
            file: MEMORY,
            find: "if value.is_some() && self.readers().is_some_and(is_live) {",
            replace: "if false && self.readers().is_some_and(is_live) {",
        }],
        profile: "sharing",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "a-reader-is-put-back-beside-a-writer",
        patches: &[Patch {
            file: MEMORY,
            find: "            Found::Ours | Found::Anothers => return Answer::Held(Holding::default()),
            Found::Nothing => {",
            replace: "            Found::Ours => return Answer::Held(Holding::default()),
            Found::Anothers | Found::Nothing => {",
        }],
        profile: "sharing",
        breaks: Invariant::ForeignChange,
    },
    Mutant {
        name: "a-failed-attempt-takes-the-intent-back",
        patches: &[Patch {
            file: CLAIM,
            find: "Want::Release { .. } if is_lease => Some(",
            replace: "Want::Release { .. } if is_lease || true => Some(",
        }],
        profile: "sharing",
        breaks: Invariant::Intent,
    },
    Mutant {
        name: "a-counter-at-the-writers-token",
        patches: &[Patch {
            file: FENCING,
            find: "count.saturating_sub(u64::from(kind != Kind::Read))",
            replace: "count.saturating_sub(u64::from(kind != Kind::Read) * 0)",
        }],
        profile: "sharing",
        breaks: Invariant::TokenUnique,
    },
    Mutant {
        name: "a-writer-that-takes-the-number-of-readers",
        patches: &[Patch {
            file: STORE,
            find: "if is_reading { 0 } else { 2 }",
            replace: "if is_reading { 0 } else { 1 }",
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
            replace: "        let is_reader = request.kind == crate::model::kind::Kind::Read;
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
            file: MEMORY,
            find: "            && value != READERS_MARKER
        {
            return Some(Holding::by(value));
        }
",
            replace: "            && value != READERS_MARKER
            && !self.sharing.is_reading()
        {
            return Some(Holding::by(value));
        }
",
        }],
        profile: "sharing",
        breaks: Invariant::Exclusion,
    },
];
