//! The mutants of the hand-over of a lock to the next caller of the same process.

mutants! {
    "handed-over-while-held" breaks HandedOverAlive in Calm:
        LeaseShared::release { state.over.get_or_insert(ended); } => {};

    "handed-over-though-lost" breaks TakenOver in Wild:
        LeaseState::end { self.turn.take() } => { None };

    "handed-over-and-dropped" breaks Leftover in Calm:
        HandedClaim::drop { !self.is_taken_over } => { false };

    "handed-over-without-end" breaks Hogged in Calm:
        FairShare::may_hand_over { && !is_spent } => {};

    "no-break-for-others" breaks Hogged in Calm:
        FairShare::record_release { self.questions_due = BREAK; } => {};

    "taken-over-with-little-left" breaks TakenOver in Calm:
        HandedClaim::suits { whole / 10 * 9 } => { whole / 10 };

    "taken-over-with-another-ttl" breaks TakenOver in Calm:
        HandedClaim::suits { && request.ttl == self.ttl } => {};

    "taken-over-where-a-token-is-wanted" breaks Unfenced in Calm:
        HandedClaim::suits { self.validity.tokens.is_some() == request.fencing && self.next_tokens().is_some() == request.fencing && } => {};

    "taken-over-with-the-same-number" breaks TokenUnique in Calm:
        HandedClaim::take_over { tokens: self.next_tokens(), } => {};

    "taken-over-with-a-number-beyond-the-block" breaks TokenOrder in Calm:
        TokenBlock::next { token < self.count } => { true };

    "taken-over-for-a-full-ttl" breaks Validity in Faulty:
        HandedClaim::take_over { granted_at: now } => {
            granted_at: now,
            deadline: now.saturating_add(validity_of(self.ttl, self.clock_drift_factor))
        };

    "taken-over-though-forgotten" breaks Unvouched in Forgetful:
        HandedClaim::suits { || !self.claim.is_vouched_for() } => {};
}
