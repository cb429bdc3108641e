//! The mutants of fencing counters, for `tests/simulation`.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const SCRIPTS: &str = "redlock-core/src/kinds/fenced/scripts.rs";
const ATTEMPT: &str = "redlock-core/src/client/attempt.rs";

const CONFIRM_ANY_KEY: Patch = Patch {
    file: SCRIPTS,
    find: "    let counters = &keys[ours(store, keys, arguments)?..];
",
    replace: "    let counters = &keys[keys.len() / 2..];
    let _ = ours;
",
};

/// Counters are seldom apart where clocks make them alike. This alone breaks nothing.
const NO_HINT: Patch = Patch {
    file: SCRIPTS,
    find: "    let mut count = clamped(store, integer(arguments, 2)?, integer(arguments, 3)?);
",
    replace: "    let mut count = 0;
",
};

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "a-counter-that-repeats",
        patches: &[Patch {
            file: SCRIPTS,
            find: "count.max(stands(store, key) + 2);",
            replace: "count.max(stands(store, key));",
        }],
        profile: "wild",
        breaks: Invariant::TokenUnique,
    },
    Mutant {
        name: "a-clients-wrong-clock-has-its-say",
        patches: &[Patch {
            file: SCRIPTS,
            find: "        .min(now.saturating_add(window))
",
            replace: "",
        }],
        profile: "faulty",
        breaks: Invariant::TokenAhead,
    },
    Mutant {
        name: "counters-that-are-ahead-idle-away",
        patches: &[Patch {
            file: SCRIPTS,
            find: "ttl.saturating_add(ahead / 1000 + i64::from(ahead % 1000 > 0))",
            replace: "ttl.saturating_add(ahead * 0)",
        }],
        profile: "misset",
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
];
