//! The mutants of what callers of one process do to each other: the line that they stand in, what is
//! handed over from one to the next, and how those who wait are woken.

use redlock_simulation::Invariant;

use crate::table::{Mutant, Patch};

const ATTEMPT: &str = "redlock-core/src/client/attempt.rs";
const LEFT_CLAIM: &str = "redlock-core/src/waiting/left_claim.rs";
const LEASE: &str = "redlock-core/src/lease/shared.rs";
const LINES: &str = "redlock-core/src/waiting/mod.rs";
const LINE: &str = "redlock-core/src/waiting/line.rs";
const BUDGET: &str = "redlock-core/src/waiting/budget.rs";
const TURN: &str = "redlock-core/src/waiting/turn.rs";
const WAKEUP: &str = "redlock-core/src/waiting/wakeup/mod.rs";
const REFUSAL: &str = "redlock-core/src/waiting/refusal.rs";
const STREAK: &str = "redlock-core/src/waiting/streak.rs";

pub(crate) const WAITING: &[Mutant] = &[
    Mutant {
        name: "taken-over-with-little-left",
        patches: &[Patch {
            file: LEFT_CLAIM,
            find: "left >= whole / 10 * 9 && left",
            replace: "left >= whole / 10 && left",
        }],
        profile: "calm",
        breaks: Invariant::TakenOver,
    },
    Mutant {
        name: "taken-over-with-another-ttl",
        patches: &[Patch {
            file: LEFT_CLAIM,
            find: "            && request.ttl == self.ttl\n",
            replace: "",
        }],
        profile: "calm",
        breaks: Invariant::TakenOver,
    },
    Mutant {
        name: "taken-over-where-a-token-is-wanted",
        patches: &[Patch {
            file: LEFT_CLAIM,
            find: "let is_alike = !request.fencing
            && !self.is_fenced
            && ",
            replace: "let is_alike = ",
        }],
        profile: "calm",
        breaks: Invariant::Unfenced,
    },
    Mutant {
        name: "taken-over-for-a-full-ttl",
        patches: &[Patch {
            file: LEFT_CLAIM,
            find: "            deadline: self.deadline,
            expiring: self.expiring,
            fencing_token: None,",
            replace: "            deadline: now
                .saturating_add(self.ttl)
                .saturating_sub(drift(self.ttl, self.clock_drift_factor)),
            expiring: self.expiring,
            fencing_token: None,",
        }],
        profile: "faulty",
        breaks: Invariant::Validity,
    },
    Mutant {
        name: "taken-over-though-forgotten",
        patches: &[Patch {
            file: LEFT_CLAIM,
            find: "if !is_alike || !self.claim.is_vouched_for() {",
            replace: "if !is_alike {",
        }],
        profile: "forgetful",
        breaks: Invariant::Unvouched,
    },
    Mutant {
        name: "handed-over-though-lost",
        patches: &[Patch {
            file: LEASE,
            find: "        self.over = Some(over);
        self.turn.take()
",
            replace: "        self.over = Some(over);
        None
",
        }],
        profile: "wild",
        breaks: Invariant::TakenOver,
    },
    Mutant {
        name: "handed-over-while-held",
        patches: &[Patch {
            file: LEASE,
            find: "            state.over.get_or_insert(over);
",
            replace: "",
        }],
        profile: "calm",
        breaks: Invariant::HandedOverAlive,
    },
    Mutant {
        name: "handed-over-and-dropped",
        patches: &[Patch {
            file: LEFT_CLAIM,
            find: "        if !self.is_taken_over {
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
            find: "if hands_over && is_followed && !line.streak.is_spent(handover_time, now) {",
            replace: "if hands_over && is_followed {",
        }],
        profile: "calm",
        breaks: Invariant::Hogged,
    },
    Mutant {
        name: "no-break-for-others",
        patches: &[Patch {
            file: STREAK,
            find: "self.questions = BREAK;",
            replace: "",
        }],
        profile: "calm",
        breaks: Invariant::Hogged,
    },
    Mutant {
        name: "last-come-first-served",
        patches: &[Patch {
            file: LINE,
            find: "self.waiters.pop_first()",
            replace: "self.waiters.pop_last()",
        }],
        profile: "calm",
        breaks: Invariant::Overtaken,
    },
    Mutant {
        name: "turn-of-a-dropped-caller-not-passed-on",
        patches: &[Patch {
            file: LINES,
            find: "line.has(ticket).then(",
            replace: "(line.has(ticket) && line.holder.is_some()).then(",
        }],
        profile: "calm",
        breaks: Invariant::Idle,
    },
    Mutant {
        name: "dropped-callers-stay-in-line",
        patches: &[Patch {
            file: LINES,
            find: "        line.waiters.remove(&ticket);
",
            replace: "",
        }],
        profile: "calm",
        breaks: Invariant::Idle,
    },
    Mutant {
        name: "an-unused-turn-is-never-taken",
        patches: &[Patch {
            file: LINES,
            find: "                next = line.pass(due);
",
            replace: "                if line.is_empty() {
                    next = line.pass(due);
                } else {
                    line.due = due;
                }
",
        }],
        profile: "faulty",
        breaks: Invariant::Idle,
    },
    Mutant {
        name: "an-unused-turn-stops-at-the-first-in-line",
        patches: &[Patch {
            file: LINES,
            find: "                next = line.pass(due);
",
            replace: "                if line.waiters.keys().next() == Some(&turn.ticket) {
                    next = line.pass(due);
                } else {
                    line.due = due;
                }
",
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
        profile: "faulty",
        breaks: Invariant::Settles,
    },
    Mutant {
        name: "a-wake-up-trusted-as-a-grant",
        patches: &[Patch {
            file: ATTEMPT,
            find: "    Err(Refusal {
",
            replace: "    let clock = &environment.clock;
    let watch = crate::waiting::QuorumWatch::behind(clock, nodes, kind.keys(), &acquisition);
    let until = now.saturating_add(timeout);
    if before(&**clock, until, watch.free()).await.is_some() {
        let terms = Terms {
            acquired_at: started,
            granted_at: started,
            deadline,
            expiring: deadline,
            fencing_token: None,
        };
        return Ok((claim.into_lease(), terms));
    }
    Err(Refusal {
",
        }],
        profile: "calm",
        breaks: Invariant::LateVotes,
    },
    Mutant {
        name: "woken-for-nodes-that-cannot-vote",
        patches: &[Patch {
            file: REFUSAL,
            find: "QuorumWatch::behind(clock, nodes, keys, &self.votes)",
            replace: "QuorumWatch::begin(clock, nodes, keys)",
        }],
        profile: "forgetful",
        breaks: Invariant::Storm,
    },
    Mutant {
        name: "a-report-wakes-nobody",
        patches: &[Patch {
            file: WAKEUP,
            find: "        state.waiting.take()
",
            replace: "        None
",
        }],
        profile: "faulty",
        breaks: Invariant::Unwoken,
    },
    Mutant {
        name: "told-by-the-votes-that-decided",
        patches: &[Patch {
            file: TURN,
            find: "        let refused = |line: &mut Line|",
            replace: "        let answers = refusal.votes.answers();
        let goal = crate::quorum::round::Goal::All;
        let votes = crate::quorum::round::Round::new(
            answers.len(),
            crate::kinds::looks::peek(&refusal.resource),
            goal,
        );
        for (seat, vote) in answers.into_iter().enumerate() {
            if let Some(vote) = vote {
                crate::node::Asker::vote(&*votes, seat, vote);
            }
        }
        let refusal = &Arc::new(Refusal {
            context: Arc::clone(&refusal.context),
            nodes: Arc::clone(&refusal.nodes),
            kind: Arc::clone(&refusal.kind),
            resource: refusal.resource.clone(),
            is_break: false,
            votes,
            release: None,
            began: refusal.began,
            timeout: refusal.timeout,
            too_late: refusal.too_late,
            disagreement: refusal.disagreement.clone(),
        });
        let refused = |line: &mut Line|",
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
