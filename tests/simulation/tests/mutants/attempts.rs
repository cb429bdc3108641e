//! The mutants of attempts: a majority of the configured nodes, the validity, and fencing tokens.

mutants! {
    "quorum-of-half" breaks Exclusion in Faulty:
        majority { configured / 2 + 1 } => { configured.max(2) / 2 };

    "quorum-of-connected-nodes" breaks Exclusion in Faulty:
        Tally::is_won { self.configured } => { self.configured - self.failed };
        Claim::is_vouched_for { self.nodes.len() } => { self.nodes.len() - self.acquisition.tally().failed };

    "validity-from-the-replies" breaks Exclusion in Faulty:
        attempt { let deadline = started } => { let deadline = now };

    "no-drift" breaks Exclusion in Faulty:
        drift { ttl.mul_f64(factor) + Duration::from_millis(2) } => { Duration::ZERO };

    "deadline-not-checked-behind-the-votes" breaks LateVotes in Faulty:
        attempt { !remaining.is_zero() && remaining >= request.min_validity } => { true };

    "clock-read-before-the-votes" breaks LateVotes in Faulty:
        attempt { let now = environment.now(); } => {};
        attempt { acquisition.set_straggler_deadline } => { let now = environment.now(); acquisition.set_straggler_deadline };

    "a-dropped-attempt-releases-nothing" breaks Leftover in Faulty:
        Claim::drop { self.release().is_some() } => { false };

    "set-repeated-after-reconnection" breaks SetTwice in Faulty:
        Link::give_up { owed_until(&one.operation, now) } => {
            owed_until(&one.operation, now).or({
                let is_set = matches!(one.operation.want(), crate::operation::Want::Acquire { .. });
                is_set.then_some(Duration::MAX)
            })
        };

    "token-not-confirmed" breaks TokenOrder in Wild:
        agree { below.is_empty() } => { true };

    "an-attempt-longer-than-the-caller-waits" breaks Settles in Faulty:
        RetryBudget::begin_attempt { timeout.min(end.saturating_since(started)) } => { timeout };
}
