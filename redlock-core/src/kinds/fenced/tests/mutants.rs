//! The mutants of fencing counters, for `tests/simulation`.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const COUNTERS: &str = "redlock-core/src/kinds/fenced/mod.rs";
const SCRIPTS: &str = "redlock-core/src/kinds/exclusive/scripts.rs";
const ATTEMPT: &str = "redlock-core/src/client/attempt.rs";

const CONFIRM_ANY_KEY: Patch = Patch {
    file: SCRIPTS,
    find: "    let (locks, gone) = locks(store, keys, arguments)?;
    if gone > 0",
    replace: "    if arguments.len() == 4 && arguments[2] != b\"0\" {
        counted(store, &keys[keys.len() / 2..], 0, &arguments[2..])?;
        return Ok(Value::Int(1));
    }
    let (locks, gone) = locks(store, keys, arguments)?;
    if gone > 0",
};

/// Counters are seldom apart where clocks make them alike. This alone breaks nothing.
const NO_HINT: Patch = Patch {
    file: COUNTERS,
    find: "        let window = number(window)?;
",
    replace: "        count = 0;
        let (window, now): (i64, i64) = (number(window)?, 0);
        let window = window * 0;
",
};

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "a-counter-that-repeats",
        patches: &[Patch {
            file: COUNTERS,
            find: "count.max(step + if",
            replace: "count.max(0 * step + if",
        }],
        profile: "wild",
        breaks: Invariant::TokenUnique,
    },
    Mutant {
        name: "a-clients-wrong-clock-has-its-say",
        patches: &[Patch {
            file: COUNTERS,
            find: "            .min(now.saturating_add(window));
",
            replace: ";
",
        }],
        profile: "faulty",
        breaks: Invariant::TokenAhead,
    },
    Mutant {
        name: "counters-that-are-ahead-idle-away",
        patches: &[Patch {
            file: COUNTERS,
            find: ".saturating_add(ahead);",
            replace: ".saturating_add(ahead * 0);",
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
                find: "let Some(round) = claim.confirm(count, &below) else {
            break;
        };
        before(clock, until, round.decided()).await;
",
                replace: "let all: Vec<usize> = (0..votes.len()).collect();
        let Some(round) = claim.confirm(count, &all) else {
            break;
        };
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
