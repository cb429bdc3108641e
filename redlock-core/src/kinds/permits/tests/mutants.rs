//! The mutants of permits, for `tests/simulation`.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const ACQUIRE: &str = "redlock-core/src/kinds/permits/scripts.rs";
const ATTEMPT: &str = "redlock-core/src/client/attempt.rs";
const CLAIM: &str = "redlock-core/src/quorum/claim.rs";
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
            file: CLAIM,
            find: "        self.send_to(others, release.without(chosen.keys()), Goal::All);
",
            replace: "        drop((release, others));
",
        }],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "other-permits-released-only-where-others-were-granted",
        patches: &[Patch {
            file: CLAIM,
            find: "let others = !self.acquisition.seats().granted;",
            replace: "let seats = self.acquisition.seats();
        let others = !seats.granted & seats.voted;",
        }],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "other-permits-not-released-where-no-answer-is-known",
        patches: &[Patch {
            file: CLAIM,
            find: "let others = !self.acquisition.seats().granted;",
            replace: "let seats = self.acquisition.seats();
        let others = !seats.granted & seats.answered();",
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
            find: "        if is_free && store.set_nx(key, arguments[0], number(arguments[1])?)? {
",
            replace: "        if is_free {
            store.set(key, arguments[0], number(arguments[1])?)?;
",
        }],
        profile: "permits",
        breaks: Invariant::Exclusion,
    },
];
