//! The mutants of callers that wait: the line that they stand in, and what wakes them.

mutants! {
    "last-come-first-served" breaks Overtaken in Calm:
        Lines::pass { pop_first } => { pop_last };

    "turn-of-a-dropped-caller-not-passed-on" breaks Idle in Calm:
        Lines::leave { if line.has(number) } => { if line.has(number) && line.holder.is_some() };

    "dropped-callers-stay-in-line" breaks Idle in Calm:
        Lines::leave { line.waiters.remove(&number).is_some() } => { false };

    "an-unused-turn-is-never-taken" breaks Idle in Faulty:
        Lines::stand { next = self.pass(&mut line, deadline); } => { line.deadline = deadline; };

    "an-unused-turn-stops-at-the-first-in-line" breaks Idle in Wild:
        Lines::stand { next = self.pass(&mut line, deadline); } => {
            let is_first = line.waiters.keys().next() == Some(&ticket.number);
            if is_first { next = self.pass(&mut line, deadline); } else { line.deadline = deadline; }
        };

    "tried-again-beyond-the-callers-time" breaks Settles in Faulty:
        RetryBudget::next_after_split { self.end.is_some() } => { false };

    "a-wake-up-trusted-as-a-grant" breaks LateVotes in Calm:
        attempt { Err } => {
            let clock = &environment.clock;
            let watch = crate::waiting::QuorumWatch::after_attempt(clock, acquirer.nodes, protocol.keys(), Some(Arc::clone(&acquisition)));
            let until = now.saturating_add(window.timeout);
            if before(&**clock, until, watch.until_free()).await.is_some() {
                let (attempt_began, granted_at, expiring) = (started, started, deadline);
                let validity = Validity { attempt_began, granted_at, deadline, expiring, tokens: None };
                return Ok((claim.into_lease(), validity));
            }
            Err
        };

    "woken-for-nodes-that-cannot-vote" breaks Storm in Forgetful:
        RefusedAttempt::watches { QuorumWatch::after_attempt(clock, nodes, keys, votes()) } => {
            QuorumWatch::begin(clock, nodes, keys)
        };

    "woken-by-a-minority" breaks Storm in Faulty:
        WatchState::due { moments.get(majority(self.free_from.len()) - 1) } => { moments.first() };

    "a-report-wakes-nobody" breaks Unwoken in Faulty:
        Reports::record { state.waiting.take() } => { None };

    "told-by-the-votes-that-decided" breaks ReadAsDown in Faulty:
        Turn::record_refusal { let mut line } => {
            use crate::quorum::round::{Goal, Round};
            let answers = refusal.votes.answers();
            let question = crate::kinds::any_kind::peek(&refusal.lock.resource);
            let votes = Round::new(answers.len(), question, Goal::All);
            for (seat, vote) in answers.into_iter().enumerate() {
                vote.into_iter().for_each(|vote| crate::node::VoteSink::vote(&*votes, seat, vote));
            }
            let refusal = &Arc::new(RefusedAttempt {
                lock: refusal.lock.clone(),
                votes,
                window: refusal.window,
                release: None,
                defect: refusal.defect.clone(),
            });
            let mut line
        };
}
