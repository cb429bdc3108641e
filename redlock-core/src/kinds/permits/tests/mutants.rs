//! The mutants of permits, for `tests/simulation`.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const ACQUIRE: &str = "redlock-core/src/kinds/permits/scripts.rs";
const ATTEMPT: &str = "redlock-core/src/client/attempt.rs";
const CHOICE: &str = "redlock-core/src/quorum/claim/choice.rs";
const CLAIM: &str = "redlock-core/src/quorum/claim/mod.rs";
const VOTES: &str = "redlock-core/src/quorum/votes.rs";

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "votes-for-different-permits-counted",
        patches: &[Patch {
            file: VOTES,
            find: "is_grant(vote) && taken(vote) == chosen",
            replace: "is_grant(vote) && taken(vote).is_some() == chosen.is_some()",
        }],
        profile: "permits",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "too-many-permits-by-different-votes",
        patches: &[Patch {
            file: VOTES,
            find: "is_grant(vote) && taken(vote) == chosen",
            replace: "is_grant(vote) && taken(vote).is_some() == chosen.is_some()",
        }],
        profile: "permits",
        breaks: Invariant::TooManyPermits,
    },
    Mutant {
        name: "other-permits-not-released",
        patches: &[Patch {
            file: CHOICE,
            find: "        if seats != 0 {
",
            replace: "        if seats != 0 && false {
",
        }],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "other-permits-released-only-where-others-were-granted",
        patches: &[Patch {
            file: CHOICE,
            find: "let seats = unheard.take(seats) & !self.state.lock().acquisition.seats().granted;",
            replace: "let acquired = Arc::clone(&self.state.lock().acquisition);
        let seats = unheard.take(seats) & !acquired.seats().granted & acquired.seats().voted;",
        }],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "a-late-answer-releases-no-permits",
        patches: &[Patch {
            file: CHOICE,
            find: "claim.release_others(bit(seat));",
            replace: "let _ = claim;",
        }],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "a-late-answer-taken-for-what-was-won",
        patches: &[Patch {
            file: CHOICE,
            find: "claim.release_others(bit(seat));",
            replace: "if let Part::One(unheard) = &claim.part {
                unheard.take(bit(seat));
            }",
        }],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "a-lease-that-ends-early-releases-only-what-it-won",
        patches: &[Patch {
            file: CLAIM,
            find: "Some((all, seats)) if seats & at != 0 => Arc::clone(all),",
            replace: "Some((all, seats)) if seats & at != 0 && all.keys().len() == 0 => {
                Arc::clone(all)
            }",
        }],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "a-failed-attempt-on-permits-releases-nothing",
        patches: &[
            Patch {
                file: CLAIM,
                find: "        if self.release().is_some() {
",
                replace: "        if self.kind.keys().names().len() < 3 && self.release().is_some() {
",
            },
            Patch {
                file: ATTEMPT,
                find: "        release: claim.release(),
",
                replace:
                    "        release: if kind.count().is_none() { claim.release() } else { None },
",
            },
        ],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "a-held-permit-granted-again",
        patches: &[Patch {
            file: ACQUIRE,
            find: "        let is_free = held.is_none();
",
            replace: "        let is_free = held.is_none() || !key.starts_with(b\"redlock:permit:\");
",
        }, Patch {
            file: ACQUIRE,
            find: "        if is_free && store.set_nx(key, word(arguments, 0)?, integer(arguments, 1)?)? {
",
            replace: "        if is_free {
            store.set(key, word(arguments, 0)?, integer(arguments, 1)?)?;
",
        }],
        profile: "permits",
        breaks: Invariant::Exclusion,
    },
];
