//! The mutants of callers that wait: the line that they stand in, and what wakes them.

mutants! {
    "last-come-first-served" breaks Overtaken in Calm:
        Line::pass { pop_first } => { pop_last };

    "turn-of-a-dropped-caller-not-passed-on" breaks Idle in Calm:
        Lines::leave { line.has(ticket).then } => { (line.has(ticket) && line.holder.is_some()).then };

    "dropped-callers-stay-in-line" breaks Idle in Calm:
        Lines::leave { line.waiters.remove(&ticket); } => {};

    "an-unused-turn-is-never-taken" breaks Idle in Faulty:
        Lines::stand { next = line.pass(due); } => {
            if line.is_empty() { next = line.pass(due); } else { line.due = due; }
        };

    "an-unused-turn-stops-at-the-first-in-line" breaks Idle in Wild:
        Lines::stand { next = line.pass(due); } => {
            let is_first = line.waiters.keys().next() == Some(&turn.ticket);
            if is_first { next = line.pass(due); } else { line.due = due; }
        };

    "tried-again-beyond-the-callers-time" breaks Settles in Faulty:
        RetryBudget::next_behind_a_split { self.end.is_some() } => { false };

    "a-wake-up-trusted-as-a-grant" breaks LateVotes in Calm:
        attempt { Err } => {
            let clock = &environment.clock;
            let watch = crate::waiting::QuorumWatch::behind(clock, nodes, protocol.keys(), &acquisition);
            let until = now.saturating_add(timeout);
            if before(&**clock, until, watch.free()).await.is_some() {
                let (acquired_at, granted_at, expiring) = (started, started, deadline);
                let validity = Validity { acquired_at, granted_at, deadline, expiring, fencing_token: None };
                return Ok((claim.into_lease(), validity));
            }
            Err
        };

    "woken-for-nodes-that-cannot-vote" breaks Storm in Forgetful:
        Refusal::watches { QuorumWatch::behind(clock, nodes, keys, &self.votes) } => {
            QuorumWatch::begin(clock, nodes, keys)
        };

    "woken-by-a-minority" breaks Storm in Faulty:
        WatchState::due { moments.get(majority(self.free_from.len()) - 1) } => { moments.first() };

    "a-report-wakes-nobody" breaks Unwoken in Faulty:
        Reports::record { state.waiting.take() } => { None };

    "told-by-the-votes-that-decided" breaks ReadAsDown in Faulty:
        Turn::refused { let refused } => {
            use crate::quorum::round::{Goal, Round};
            let answers = refusal.votes.answers();
            let votes = Round::new(answers.len(), crate::kinds::looks::peek(&refusal.resource), Goal::All);
            for (seat, vote) in answers.into_iter().enumerate() {
                vote.into_iter().for_each(|vote| crate::node::Asker::vote(&*votes, seat, vote));
            }
            let refusal = &Arc::new(Refusal {
                context: Arc::clone(&refusal.context),
                nodes: Arc::clone(&refusal.nodes),
                protocol: Arc::clone(&refusal.protocol),
                resource: refusal.resource.clone(),
                disagreement: refusal.disagreement.clone(),
                is_break: false,
                release: None,
                votes,
                ..**refusal
            });
            let refused
        };
}
