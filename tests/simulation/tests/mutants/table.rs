//! The mutants.

use redlock_simulation::Invariant;

/// A way to break the algorithm, and the rule that has to notice.
pub(crate) struct Mutant {
    pub(crate) name: &'static str,
    pub(crate) patches: &'static [Patch],
    /// In which profile it shows.
    pub(crate) profile: &'static str,
    pub(crate) breaks: Invariant,
}

/// One change of a file: `find` is there exactly once.
pub(crate) struct Patch {
    pub(crate) file: &'static str,
    pub(crate) find: &'static str,
    pub(crate) replace: &'static str,
}

/// The seeds within which each mutant must be found: several times as many as the hardest one needs.
pub(crate) const SEEDS: u64 = 30_000;

const ATTEMPT: &str = "redlock-core/src/client/attempt.rs";
const CLAIM: &str = "redlock-core/src/quorum/claim.rs";
const EXTEND: &str = "redlock-core/src/lease/extend.rs";
const LEASE: &str = "redlock-core/src/lease/shared.rs";
const EXTENSION_PROOF: &str = "redlock-core/src/quorum/extension_proof.rs";
const QUORUM: &str = "redlock-core/src/quorum/mod.rs";
const LIMITS: &str = "redlock-core/src/model/limits.rs";
const LINK: &str = "tests/simulation/src/link/mod.rs";
const OWED: &str = "tests/simulation/src/link/owed.rs";

pub(crate) const MUTANTS: &[Mutant] = &[
    Mutant {
        name: "quorum-of-half",
        patches: &[Patch {
            file: QUORUM,
            find: "    configured / 2 + 1\n",
            replace: "    if configured < 2 { 1 } else { configured / 2 }\n",
        }],
        profile: "faulty",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "quorum-of-connected-nodes",
        patches: &[
            Patch {
                file: QUORUM,
                find: "self.granted >= majority(self.configured)\n",
                replace: "self.granted >= majority(self.configured - self.failed)\n",
            },
            Patch {
                file: CLAIM,
                find: "seats_in(self.vouching()) >= majority(self.nodes.len())",
                replace: "let failed = self.acquisition.tally().failed;
        seats_in(self.vouching()) >= majority(self.nodes.len() - failed)",
            },
        ],
        profile: "faulty",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "validity-from-the-replies",
        patches: &[Patch {
            file: ATTEMPT,
            find: "let deadline = started\n",
            replace: "let deadline = now\n",
        }],
        profile: "faulty",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "extension-counted-from-the-replies",
        patches: &[Patch {
            file: EXTEND,
            find: "let deadline = started.saturating_add(ttl)",
            replace: "let deadline = shared.now().saturating_add(ttl)",
        }],
        profile: "faulty",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "no-drift",
        patches: &[Patch {
            file: LIMITS,
            find: "ttl.mul_f64(factor) + Duration::from_millis(2)",
            replace: "ttl.mul_f64(factor * 0.0)",
        }],
        profile: "faulty",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "deadline-not-checked-behind-the-votes",
        patches: &[Patch {
            file: ATTEMPT,
            find: "if !left.is_zero() && left >= request.min_validity {",
            replace: "if true {",
        }],
        profile: "faulty",
        breaks: Invariant::LateVotes,
    },
    Mutant {
        name: "clock-read-before-the-votes",
        patches: &[
            Patch {
                file: ATTEMPT,
                find: "    acquisition.is_lease(Arc::clone(&environment.clock), straggles_until);
",
                replace: "    let now = environment.now();
    acquisition.is_lease(Arc::clone(&environment.clock), straggles_until);
",
            },
            Patch {
                file: ATTEMPT,
                find: "agreement.disagreement.is_none();
    let now = environment.now();
",
                replace: "agreement.disagreement.is_none();
",
            },
        ],
        profile: "faulty",
        breaks: Invariant::LateVotes,
    },
    Mutant {
        name: "extension-without-a-majority",
        patches: &[Patch {
            file: EXTENSION_PROOF,
            find: "seats_in(counts & granted) >= majority(configured)",
            replace: "counts & granted != 0",
        }],
        profile: "faulty",
        breaks: Invariant::Exclusion,
    },
    Mutant {
        name: "extension-of-a-lease-that-is-over",
        patches: &[Patch {
            file: LEASE,
            find: "        if let Some(over) = state.over_at(self.now()) {
            return Err(over);
",
            replace: "        if let Some(over) = state.over.clone() {
            return Err(over);
",
        }],
        profile: "faulty",
        breaks: Invariant::Revived,
    },
    Mutant {
        name: "keys-put-back-without-proof",
        patches: &[Patch {
            file: EXTEND,
            find: "match shared.claim.judge(extension) {",
            replace: "shared.claim.restore(ttl); match shared.claim.judge(extension) {",
        }],
        profile: "faulty",
        breaks: Invariant::Unproven,
    },
    Mutant {
        name: "keys-put-back-behind-the-release",
        patches: &[Patch {
            file: CLAIM,
            find: "        if is_late {\n",
            replace: "        if is_late && false {\n",
        }],
        profile: "faulty",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "keys-put-back-and-not-released",
        patches: &[Patch {
            file: CLAIM,
            find: "restored | self.acquisition.seats().reached",
            replace: "self.acquisition.seats().reached",
        }],
        profile: "faulty",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "released-before-renewal-is-stopped",
        patches: &[Patch {
            file: LEASE,
            find: "        let (turn, left_claim) = self.change(|state| {
",
            replace: "        self.claim.release();
        let (turn, left_claim) = self.change(|state| {
",
        }],
        profile: "faulty",
        breaks: Invariant::ExtendedReleased,
    },
    Mutant {
        name: "stragglers-forgotten",
        patches: &[Patch {
            file: CLAIM,
            find: "restored | self.acquisition.seats().reached",
            replace: "restored | self.acquisition.seats().granted",
        }],
        profile: "faulty",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "a-dropped-attempt-releases-nothing",
        patches: &[Patch {
            file: CLAIM,
            find: "        if self.release().is_some() {
",
            replace: "        if false {
",
        }],
        profile: "faulty",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "release-not-repeated-after-reconnection",
        patches: &[Patch {
            file: OWED,
            find: "let owed = std::mem::take(&mut state.owed);",
            replace: "let mut owed = std::mem::take(&mut state.owed); owed.clear();",
        }],
        profile: "faulty",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "set-repeated-after-reconnection",
        patches: &[Patch {
            file: LINK,
            find: "if let Some(until) = one.owed_until.or(owed_until(&one.operation, now)) {",
            replace:
                "let is_set = matches!(one.operation.want(), crate::operation::Want::Acquire { .. });
                let owed = owed_until(&one.operation, now).or(is_set.then_some(Duration::MAX));
                if let Some(until) = one.owed_until.or(owed) {",
        }],
        profile: "faulty",
        breaks: Invariant::SetTwice,
    },
];
