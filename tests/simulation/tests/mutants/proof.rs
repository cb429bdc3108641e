//! The mutants of what an extension proves, and of when a lease is lost.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const ATTEMPT: &str = "redlock-core/src/attempt.rs";
const POSSESSION: &str = "redlock-core/src/possession.rs";

pub(crate) const PROOF: &[Mutant] = &[
    Mutant {
        name: "late-grants-make-a-lease-and-prove-nothing",
        patches: &[Patch {
            file: ATTEMPT,
            find: "        acquisition.admit_late();\n",
            replace: "",
        }],
        profile: "faulty",
        breaks: Invariant::GivenUp,
    },
    Mutant {
        name: "stragglers-count-while-the-caller-waits",
        patches: &[Patch {
            file: ATTEMPT,
            find: "let in_time = (Arc::clone(&environment.clock), straggles_until);",
            replace: "let in_time = (Arc::clone(&environment.clock), until.min(straggles_until));",
        }],
        profile: "wild",
        breaks: Invariant::GivenUp,
    },
    Mutant {
        name: "stragglers-do-not-count-behind-the-first-extension",
        patches: &[Patch {
            file: POSSESSION,
            find: "let counts = (electorate.firm | acquisition.in_time) & !self.gone;",
            replace: "let counts = electorate.firm & !self.gone;",
        }],
        profile: "wild",
        breaks: Invariant::GivenUp,
    },
    Mutant {
        name: "stragglers-count-whenever-they-come",
        patches: &[Patch {
            file: ATTEMPT,
            find: "started.saturating_add(attempt_time(client.node_timeout, request.ttl));",
            replace: "started.saturating_add(request.ttl);",
        }],
        profile: "wild",
        breaks: Invariant::Interrupted,
    },
    Mutant {
        name: "every-yes-to-an-extension-counts",
        patches: &[Patch {
            file: POSSESSION,
            find: "let counts = (electorate.firm | acquisition.in_time) & !self.gone;",
            replace: "let counts = u64::MAX & !(absent | held);",
        }],
        profile: "wild",
        breaks: Invariant::Interrupted,
    },
];
