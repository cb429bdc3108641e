//! The mutants of what callers of one process do to each other: the line that they stand in, what is
//! handed over from one to the next, and how those who wait are woken.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const ACQUIRE: &str = "redlock-core/src/client/acquire.rs";
const ATTEMPT: &str = "redlock-core/src/client/attempt.rs";
const HANDOVER: &str = "redlock-core/src/waiting/handover.rs";
const HANDLE: &str = "redlock-core/src/lease/handle.rs";
const RELEASE: &str = "redlock-core/src/lease/release.rs";
const LINE: &str = "redlock-core/src/waiting/line.rs";
const BUDGET: &str = "redlock-core/src/waiting/budget.rs";
const TURN: &str = "redlock-core/src/waiting/turn.rs";
const WAKEUP: &str = "redlock-core/src/waiting/wakeup/mod.rs";
const WAIT: &str = "redlock-core/src/waiting/queued.rs";

pub(crate) const WAITING: &[Mutant] = &[
    Mutant {
        name: "taken-over-with-little-left",
        patches: &[Patch {
            file: HANDOVER,
            find: "left >= whole / 10 * 9 && left",
            replace: "left >= whole / 10 && left",
        }],
        profile: "calm",
        breaks: Invariant::TakenOver,
    },
    Mutant {
        name: "taken-over-with-another-ttl",
        patches: &[Patch {
            file: HANDOVER,
            find: "            && request.ttl == lease.ttl\n",
            replace: "",
        }],
        profile: "calm",
        breaks: Invariant::TakenOver,
    },
    Mutant {
        name: "taken-over-where-a-token-is-wanted",
        patches: &[Patch {
            file: HANDOVER,
            find: "let is_alike = !request.fencing
            && !lease.is_fenced
            && ",
            replace: "let is_alike = ",
        }],
        profile: "calm",
        breaks: Invariant::Unfenced,
    },
    Mutant {
        name: "taken-over-for-a-full-ttl",
        patches: &[Patch {
            file: HANDOVER,
            find: "            deadline: self.lease.deadline,
            expiring: self.lease.expiring,
            fencing_token: None,",
            replace: "            deadline: now
                .saturating_add(self.lease.ttl)
                .saturating_sub(drift(self.lease.ttl, self.lease.clock_drift_factor)),
            expiring: self.lease.expiring,
            fencing_token: None,",
        }],
        profile: "faulty",
        breaks: Invariant::Validity,
    },
    Mutant {
        name: "taken-over-though-forgotten",
        patches: &[Patch {
            file: HANDOVER,
            find: "if !is_alike || !self.claim.is_vouched_for() {",
            replace: "if !is_alike {",
        }],
        profile: "forgetful",
        breaks: Invariant::Unvouched,
    },
    Mutant {
        name: "handed-over-though-lost",
        patches: &[Patch {
            file: HANDLE,
            find: "            (state.turn.take(), state.watchers.take())
        };",
            replace: "            (None::<crate::waiting::Turn>, state.watchers.take())
        };",
        }],
        profile: "wild",
        breaks: Invariant::TakenOver,
    },
    Mutant {
        name: "handed-over-while-held",
        patches: &[Patch {
            file: RELEASE,
            find: "            state.generation += 1;
            state.over.get_or_insert(over);
",
            replace: "",
        }],
        profile: "calm",
        breaks: Invariant::HandedOverAlive,
    },
    Mutant {
        name: "handed-over-and-dropped",
        patches: &[Patch {
            file: HANDOVER,
            find: "        if !self.is_passed_on {
            self.claim.release();",
            replace: "        if false {
            self.claim.release();",
        }],
        profile: "calm",
        breaks: Invariant::Leftover,
    },
    Mutant {
        name: "handed-over-without-end",
        patches: &[Patch {
            file: TURN,
            find: "if fairness.must_yield(&self.lines.handover, now) {",
            replace: "if fairness.must_yield(&crate::waiting::Handover { most: u32::MAX, longest: crate::request::MIN_TTL * 1_000_000 }, now) {",
        }],
        profile: "calm",
        breaks: Invariant::Hogged,
    },
    Mutant {
        name: "no-break-for-others",
        patches: &[Patch {
            file: TURN,
            find: "let (rounds, fairness) = fairness.takes_break();",
            replace: "let (rounds, (_, fairness)) = (0, fairness.takes_break());",
        }],
        profile: "calm",
        breaks: Invariant::Hogged,
    },
    Mutant {
        name: "last-come-first-served",
        patches: &[Patch {
            file: LINE,
            find: "waiters.by_ticket.pop_first()",
            replace: "waiters.by_ticket.pop_last()",
        }],
        profile: "calm",
        breaks: Invariant::Overtaken,
    },
    Mutant {
        name: "turn-of-a-dropped-caller-not-passed-on",
        patches: &[Patch {
            file: WAIT,
            find: "turn.decline(handoff);",
            replace: "drop(handoff);
            std::mem::forget(turn);",
        }],
        profile: "calm",
        breaks: Invariant::Idle,
    },
    Mutant {
        name: "dropped-callers-stay-in-line",
        patches: &[Patch {
            file: WAIT,
            find: "        if self.ticket == 0 {
            return;",
            replace: "        if self.ticket != u64::MAX {
            return;",
        }],
        profile: "calm",
        breaks: Invariant::Idle,
    },
    Mutant {
        name: "an-unused-turn-is-never-taken",
        patches: &[Patch {
            file: LINE,
            find: "            // The turn was not used in time.
",
            replace: "            return (LinePoll::Wait(due), [const { None }; 2]);
",
        }],
        profile: "faulty",
        breaks: Invariant::Idle,
    },
    Mutant {
        name: "an-unused-turn-stops-at-the-first-in-line",
        patches: &[Patch {
            file: LINE,
            find: "let [next_waker, _] = self.pass(due, handoff);",
            replace: "let next_waker = None::<Waker>;
            self.waiters().handoff = Some(handoff);",
        }],
        profile: "wild",
        breaks: Invariant::Idle,
    },
    Mutant {
        name: "tried-again-beyond-the-callers-time",
        patches: &[Patch {
            file: BUDGET,
            find: "        if self.end.is_some() {
            return None;
        }
",
            replace: "",
        }],
        profile: "forgetful",
        breaks: Invariant::Settles,
    },
    Mutant {
        name: "a-wake-up-trusted-as-a-grant",
        patches: &[
            Patch {
                file: ACQUIRE,
                find: "                AttemptOutcome::Refused(refused) => refused,
            };
",
                replace: "                AttemptOutcome::Refused(refused) => refused,
            };
            if let Some(watch) = refused.watch() {
                let until = self.shared.context.environment.now().saturating_add(timeout);
                let free = pin!(watch.free());
                let free = crate::env::timeout::before(self.shared.context.clock(), until, free).await;
                if free.is_some() {
                    let (claim, terms) = refused.trusted(request);
                    return Ok(self.shared.won(claim, terms, request, &budget, turn));
                }
            }
",
            },
            Patch {
                file: ATTEMPT,
                find: "impl Refused {
",
                replace: "impl Refused {
    pub(crate) fn trusted(self, request: &Request) -> (Arc<Claim>, Terms) {
        let started = self.refusal.began;
        let deadline = started
            .saturating_add(request.ttl)
            .saturating_sub(drift(request.ttl, request.clock_drift_factor));
        let terms = Terms {
            acquired_at: started,
            granted_at: started,
            deadline,
            expiring: deadline,
            fencing_token: None,
        };
        (Arc::clone(&self.claim), terms)
    }

",
            },
        ],
        profile: "calm",
        breaks: Invariant::LateVotes,
    },
    Mutant {
        name: "woken-for-nodes-that-cannot-vote",
        patches: &[Patch {
            file: ATTEMPT,
            find: "QuorumWatch::behind(clock, nodes, keys, self.acquisition())",
            replace: "QuorumWatch::begin(clock, nodes, keys, u64::MAX)",
        }],
        profile: "forgetful",
        breaks: Invariant::Storm,
    },
    Mutant {
        name: "a-report-wakes-nobody",
        patches: &[Patch {
            file: WAKEUP,
            find: "if state.looks_at.is_none_or(|looks_at| due < looks_at) {
            state.waiting.take()
",
            replace: "if state.looks_at.is_none_or(|looks_at| due < looks_at) {
            None
",
        }],
        profile: "faulty",
        breaks: Invariant::Unwoken,
    },
    Mutant {
        name: "told-by-the-votes-that-decided",
        patches: &[Patch {
            file: TURN,
            find: "        let refusal = Arc::clone(refusal);
",
            replace: "        let votes = refusal.acquisition.answers();
        let goal = crate::quorum::round::Goal::All;
        let acquisition = crate::quorum::round::Round::new(votes.len(), goal);
        for (seat, vote) in votes.into_iter().enumerate() {
            if let Some(vote) = vote {
                crate::node::VoteReceiver::vote(&*acquisition, seat, vote);
            }
        }
        let refusal = Arc::new(Refusal {
            nodes: Arc::clone(&refusal.nodes),
            resource: refusal.resource.clone(),
            acquisition,
            began: refusal.began,
            timeout: refusal.timeout,
            too_late: refusal.too_late,
            disagreement: refusal.disagreement.clone(),
            kind: Arc::clone(&refusal.kind),
        });
",
        }],
        profile: "faulty",
        breaks: Invariant::ReadAsDown,
    },
    Mutant {
        name: "woken-by-a-minority",
        patches: &[Patch {
            file: WAKEUP,
            find: "moments.get(majority(self.free_from.len()) - 1).copied()",
            replace: "moments.first().copied()",
        }],
        profile: "faulty",
        breaks: Invariant::Storm,
    },
];
