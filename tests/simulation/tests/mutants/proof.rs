//! The mutants of what an extension proves, of how a lease may end, and of what is owed to callers and
//! nodes.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const ATTEMPT: &str = "redlock-core/src/client/attempt.rs";
const CLAIM: &str = "redlock-core/src/quorum/claim.rs";
const ROUND: &str = "redlock-core/src/quorum/round/mod.rs";
const HANDLE: &str = "redlock-core/src/lease/handle.rs";
const LEASE: &str = "redlock-core/src/lease/shared.rs";
const OWED: &str = "tests/simulation/src/link/owed.rs";
const BUDGET: &str = "redlock-core/src/waiting/budget.rs";
const EXTENSION_PROOF: &str = "redlock-core/src/quorum/extension_proof.rs";
const RENEWALS: &str = "redlock-core/src/lease/renewals.rs";

pub(crate) const PROOF: &[Mutant] = &[
    Mutant {
        name: "late-grants-make-a-lease-and-prove-nothing",
        patches: &[
            Patch {
                file: ATTEMPT,
                find: "    let until = started.saturating_add(timeout);\n",
                replace: "    let until = started.saturating_add(timeout);
    let straggles_until = started.saturating_add(attempt_time(context.node_timeout, request.ttl));
    acquisition.is_lease(Arc::clone(&environment.clock), straggles_until);
",
            },
            Patch {
                file: CLAIM,
                find: "acquisition.vouching_seats(&self.nodes) & acquisition.seats().in_time",
                replace: "acquisition.vouching_seats(&self.nodes)",
            },
        ],
        profile: "faulty",
        breaks: Invariant::GivenUp,
    },
    Mutant {
        name: "stragglers-count-while-the-caller-waits",
        patches: &[Patch {
            file: ATTEMPT,
            find: "acquisition.is_lease(Arc::clone(&environment.clock), straggles_until);",
            replace: "acquisition.is_lease(Arc::clone(&environment.clock), started.saturating_add(timeout / 4).min(straggles_until));",
        }],
        profile: "wild",
        breaks: Invariant::GivenUp,
    },
    Mutant {
        name: "stragglers-do-not-count-behind-the-first-extension",
        patches: &[Patch {
            file: EXTENSION_PROOF,
            find: "(voters.continuous | acquisition.in_time) & !self.gone\n",
            replace: "voters.continuous & !self.gone\n",
        }],
        profile: "wild",
        breaks: Invariant::GivenUp,
    },
    Mutant {
        name: "stragglers-vouch-whenever-they-come",
        patches: &[Patch {
            file: CLAIM,
            find: "acquisition.vouching_seats(&self.nodes) & acquisition.seats().in_time",
            replace: "acquisition.vouching_seats(&self.nodes)",
        }],
        profile: "forgetful",
        breaks: Invariant::Unvouched,
    },
    Mutant {
        name: "an-extension-counts-where-the-key-is-gone",
        patches: &[Patch {
            file: EXTENSION_PROOF,
            find: "let outcome = if seats_in(counts & granted) >= majority(configured) {",
            replace: "let outcome = if seats_in(granted | absent) >= majority(configured) {",
        }],
        profile: "wild",
        breaks: Invariant::Interrupted,
    },
    Mutant {
        name: "a-lease-that-nobody-forgot-is-forgotten",
        patches: &[Patch {
            file: HANDLE,
            find: "if !self.shared.claim.is_vouched_for() {",
            replace: "if true {",
        }],
        profile: "calm",
        breaks: Invariant::Uncaused,
    },
    Mutant {
        name: "an-extension-shortens-a-lease",
        patches: &[Patch {
            file: LEASE,
            find: "if deadline > state.deadline {",
            replace: "if deadline != state.deadline {",
        }],
        profile: "calm",
        breaks: Invariant::Uncaused,
    },
    Mutant {
        name: "a-renewal-that-failed-is-not-tried-again",
        patches: &[Patch {
            file: RENEWALS,
            find: "                Some(now.saturating_add(retry_pause(left, self.ttl)))\n",
            replace: "                None\n",
        }],
        profile: "faulty",
        breaks: Invariant::Uncaused,
    },
    Mutant {
        name: "a-release-that-was-refused-is-forgotten",
        patches: &[Patch {
            file: OWED,
            find: "self.lock().owed.push_back(Owed { operation, until });",
            replace: "drop(Owed { operation, until });",
        }],
        profile: "faulty",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "an-attempt-longer-than-the-caller-waits",
        patches: &[Patch {
            file: BUDGET,
            find: "Some(end) => timeout.min(end.saturating_since(environment.now())),",
            replace: "Some(_) => timeout,",
        }],
        profile: "faulty",
        breaks: Invariant::Settles,
    },
    Mutant {
        name: "a-release-waits-for-ever",
        patches: &[Patch {
            file: ROUND,
            find: "        before(clock, until, self.decided()).await;\n",
            replace: "        let _ = before(clock, until, std::future::ready(())).await;
        self.decided().await;\n",
        }],
        profile: "faulty",
        breaks: Invariant::Settles,
    },
];
