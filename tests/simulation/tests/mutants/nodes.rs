//! The mutants of the choice of fencing tokens, and of nodes that may have forgotten locks.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const ATTEMPT: &str = "redlock-core/src/client/attempt.rs";
const HANDLE: &str = "redlock-core/src/lease/handle.rs";
const MARKER: &str = "redlock-core/src/restart_check/marker.rs";
const VOTES: &str = "redlock-core/src/quorum/votes.rs";
const NODE_CHECK: &str = "redlock-core/src/restart_check/node_check.rs";

pub(crate) const NODES: &[Mutant] = &[
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
        name: "restart-check-off",
        patches: &[Patch {
            file: NODE_CHECK,
            find: "self.judge(&facts);",
            replace: "Action::Vote;",
        }],
        profile: "forgetful",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "quarantine-too-short",
        patches: &[Patch {
            file: MARKER,
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
            file: HANDLE,
            find: "if !self.shared.claim.is_vouched_for() {",
            replace: "if false {",
        }],
        profile: "forgetful",
        breaks: Invariant::Unvouched,
    },
];
