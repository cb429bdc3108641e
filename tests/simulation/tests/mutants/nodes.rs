//! The mutants of fencing tokens, and of nodes that may have forgotten locks.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const ATTEMPT: &str = "redlock-core/src/client/attempt.rs";
const CHECKED_SET: &str = "redlock-core/src/restart_check/checked_set.rs";
const MEMORY: &str = "redlock-core/src/memory/store.rs";
const EVENTS: &str = "redlock-core/src/lease/events.rs";
const VOTES: &str = "redlock-core/src/quorum/votes.rs";
const NODE_CHECK: &str = "redlock-core/src/restart_check/node_check.rs";

const CONFIRM_ANY_KEY: Patch = Patch {
    file: MEMORY,
    find: "fn confirm(&mut self, operation: &Operation, counter: u64, expires: Moment) -> Answer {
        if let Some(refusal) = self.refusal(operation) {
            return refusal;
        }
",
    replace:
        "fn confirm(&mut self, operation: &Operation, counter: u64, expires: Moment) -> Answer {
",
};

/// Counters are seldom apart where clocks make them alike. This alone breaks nothing.
const NO_HINT: Patch = Patch {
    file: MEMORY,
    find: "let next = self.next(counters, false).max(clamped(hint, wall));",
    replace: "let next = self.next(counters, false);",
};

pub(crate) const NODES: &[Mutant] = &[
    Mutant {
        name: "a-counter-that-repeats",
        patches: &[Patch {
            file: MEMORY,
            find: "highest.unwrap_or(0).saturating_add(step)",
            replace: "highest.unwrap_or(0)",
        }],
        profile: "wild",
        breaks: Invariant::TokenUnique,
    },
    Mutant {
        name: "a-clients-wrong-clock-has-its-say",
        patches: &[Patch {
            file: MEMORY,
            find: "hint.clamp(earliest, latest)",
            replace: "hint.max(earliest)",
        }],
        profile: "faulty",
        breaks: Invariant::TokenAhead,
    },
    Mutant {
        name: "counters-that-are-ahead-idle-away",
        patches: &[Patch {
            file: MEMORY,
            find: "counter_ttl(ttl).saturating_add(ahead)",
            replace: "counter_ttl(ttl).saturating_add(ahead * 0)",
        }],
        profile: "misset",
        breaks: Invariant::TokenOrder,
    },
    Mutant {
        name: "token-not-confirmed",
        patches: &[Patch {
            file: ATTEMPT,
            find: "if below.is_empty() {",
            replace: "if below.is_empty() || true {",
        }],
        profile: "wild",
        breaks: Invariant::TokenOrder,
    },
    Mutant {
        name: "token-confirmed-whoever-has-the-key",
        patches: &[CONFIRM_ANY_KEY, NO_HINT],
        profile: "wild",
        breaks: Invariant::TokenUnique,
    },
    Mutant {
        name: "token-confirmed-on-any-majority",
        patches: &[
            CONFIRM_ANY_KEY,
            NO_HINT,
            Patch {
                file: ATTEMPT,
                find: "let round = claim.confirm(count, &below);
        before(clock, until, round.decided()).await;
",
                replace: "let all: Vec<usize> = (0..votes.len()).collect();
        let round = claim.confirm(count, &all);
        before(clock, until, round.decided()).await;
        if round.tally().is_won() {
            return Agreement { count: Some(count), disagreement: None };
        }
",
            },
        ],
        profile: "wild",
        breaks: Invariant::TokenUnique,
    },
    Mutant {
        name: "restart-check-off",
        patches: &[Patch {
            file: NODE_CHECK,
            find: "self.raised(check, found.as_ref(), action)",
            replace: "Action::Vote",
        }],
        profile: "forgetful",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "quarantine-too-short",
        patches: &[Patch {
            file: CHECKED_SET,
            find: "longest.saturating_add(margin)",
            replace: "(longest + margin) / 4",
        }],
        profile: "forgetful",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "grants-of-an-earlier-epoch-count",
        patches: &[Patch {
            file: VOTES,
            find: "if *epoch == node.epoch())",
            replace: "if *epoch <= node.epoch())",
        }],
        profile: "forgetful",
        breaks: Invariant::Unvouched,
    },
    Mutant {
        name: "new-epochs-not-heeded",
        patches: &[Patch {
            file: EVENTS,
            find: "if !self.shared.claim.is_vouched_for() {",
            replace: "if false {",
        }],
        profile: "forgetful",
        breaks: Invariant::Unvouched,
    },
];
