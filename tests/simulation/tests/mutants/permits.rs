//! The mutants of permits.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const VOTES: &str = "redlock-core/src/quorum/votes.rs";
const CLAIM: &str = "redlock-core/src/quorum/claim/mod.rs";
const CLAIM_END: &str = "redlock-core/src/quorum/claim/ending.rs";
const CLAIM_OF_PERMITS: &str = "redlock-core/src/quorum/claim/permits.rs";
const MEMORY: &str = "redlock-core/src/memory/permits.rs";

pub(crate) const PERMITS: &[Mutant] = &[
    Mutant {
        name: "votes-for-different-permits-counted",
        patches: &[Patch {
            file: VOTES,
            find: ".filter(|seat| self.taken_at(*seat) == Some(taken));",
            replace: ".filter(|seat| self.taken_at(*seat).is_some());",
        }],
        profile: "permits",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "too-many-permits-by-different-votes",
        patches: &[Patch {
            file: VOTES,
            find: ".filter(|seat| self.taken_at(*seat) == Some(taken));",
            replace: ".filter(|seat| self.taken_at(*seat).is_some());",
        }],
        profile: "permits",
        breaks: Invariant::TooManyPermits,
    },
    Mutant {
        name: "other-permits-not-released",
        patches: &[Patch {
            file: CLAIM_OF_PERMITS,
            find: "        if seats != 0 {
            let ttl",
            replace: "        if seats != 0 && false {
            let ttl",
        }],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "other-permits-released-only-where-others-were-granted",
        patches: &[Patch {
            file: CLAIM_OF_PERMITS,
            find: "let seats = all.take(seats) & !self.state.lock().acquisition.granted_seats();",
            replace: "let acquired = Arc::clone(&self.state.lock().acquisition);
        let seats = all.take(seats) & !acquired.granted_seats() & !acquired.failed_seats();",
        }],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "a-late-answer-releases-no-permits",
        patches: &[Patch {
            file: CLAIM_OF_PERMITS,
            find: "claim.release_others(bit(seat));",
            replace: "let _ = claim;",
        }],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "a-late-answer-taken-for-what-was-won",
        patches: &[Patch {
            file: CLAIM_OF_PERMITS,
            find: "claim.release_others(bit(seat));",
            replace: "if let Some(Special::OnePermit(all)) = &claim.special {
                all.take(bit(seat));
            }",
        }],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "a-lease-that-ends-early-releases-only-what-it-won",
        patches: &[Patch {
            file: CLAIM_END,
            find: "Some((all, seats)) if seats & at != 0 => Arc::clone(all),",
            replace: "Some((all, seats)) if seats & at != 0 && all.keys().names().len() == 0 => {
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
                find: "    fn drop(&mut self) {
        self.release();
",
                replace: "    fn drop(&mut self) {
        if self.keys.names().len() < 3 { self.release(); }
",
            },
            Patch {
                file: "redlock-core/src/client/attempt.rs",
                find: "    let release = claim.release();
",
                replace:
                    "    let release = if asks.asked().is_none() { claim.release() } else { None };
",
            },
        ],
        profile: "permits",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "a-held-permit-granted-again",
        patches: &[Patch {
            file: MEMORY,
            find: ".filter(|key| !self.entries.contains_key(&key.key))",
            replace: ".filter(|key| !self.entries.contains_key(&key.key) || key.permit == 0)",
        }],
        profile: "permits",
        breaks: Invariant::Exclusion,
    },
];
