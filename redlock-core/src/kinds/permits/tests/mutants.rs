//! The mutants of permits, for `tests/simulation`.

mutants! {
    "votes-for-different-permits-counted" breaks Exclusion in Permits:
        RoundVotes::granted { granted_permit(vote) == chosen } => { granted_permit(vote).is_some() == chosen.is_some() };

    "too-many-permits-by-different-votes" breaks TooManyPermits in Permits:
        RoundVotes::granted { granted_permit(vote) == chosen } => { granted_permit(vote).is_some() == chosen.is_some() };

    "other-permits-not-released" breaks Leftover in Permits:
        Claim::narrow_to_permit { !self.acquisition.seats().granted } => { 0 };

    "other-permits-released-only-where-others-were-granted" breaks Leftover in Permits:
        Claim::narrow_to_permit { let others = } => { let others = self.acquisition.seats().voted & };

    "other-permits-not-released-where-no-answer-is-known" breaks Leftover in Permits:
        Claim::narrow_to_permit { let others = } => { let others = self.acquisition.seats().answered() & };

    "a-failed-attempt-on-permits-releases-nothing" breaks Leftover in Permits:
        Claim::drop { self.release() } => { (self.protocol.keys().names().len() < 3).then(|| self.release()) };
        attempt { claim.release() } => { protocol.permits().is_none().then(|| claim.release()).flatten() };

    "a-held-permit-granted-again" breaks Exclusion in Permits:
        acquire_permit { held.is_none() } => { held.is_none() || !key.starts_with(b"redlock:permit:") };
        acquire_permit { store.set_nx(key, token, parse_integer(arguments[1])?)? } => {
            store.set(key, token, parse_integer(arguments[1])?).is_ok()
        };

    "a-node-ignores-the-queue" breaks Starved in Permits:
        acquire_permit { free.len() <= ahead } => { false };

    "a-client-that-waits-is-always-refused" breaks Starved in Permits:
        acquire_permit { keys.iter().all(|key| store.exists(key)) } => { true };
}
