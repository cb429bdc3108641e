//! The mutants of leases: proofs by extensions, keys that are put back, and releases.

mutants! {
    "stragglers-forgotten" breaks Leftover in Faulty:
        Claim::send_to { .reached } => { .granted };

    "extension-without-a-majority" breaks Exclusion in Faulty:
        ExtensionProof::judge { seats_in(counted & granted) >= needed } => { counted & granted != 0 };

    "extension-counted-from-the-replies" breaks Exclusion in Faulty:
        prolong { let deadline = started } => { let deadline = shared.now() };

    "extension-of-a-lease-that-is-over" breaks Revived in Faulty:
        LeaseShared::prolong { state.over_at(self.now()) } => { state.over.clone() };

    "an-extension-shortens-a-lease" breaks Uncaused in Calm:
        LeaseShared::prolong { deadline > } => { deadline != };

    "an-extension-counts-where-the-key-is-gone" breaks Interrupted in Wild:
        ExtensionProof::judge { seats_in(counted & granted) } => { seats_in(granted | answers.absent) };

    "late-grants-make-a-lease-and-prove-nothing" breaks GivenUp in Faulty:
        attempt { before } => {
            let straggles_until = started.saturating_add(attempt_time(context.node_timeout, request.ttl));
            acquisition.set_straggler_deadline(Arc::clone(&environment.clock), straggles_until);
            before
        };
        Claim::vouching_seats { & self.acquisition.seats().in_time } => {};

    "stragglers-count-while-the-caller-waits" breaks GivenUp in Wild:
        attempt { , straggles_until } => { , started.saturating_add(window.timeout / 4).min(straggles_until) };

    "stragglers-do-not-count-behind-the-first-extension" breaks GivenUp in Wild:
        ExtensionProof::counted_seats { | acquisition.in_time } => {};

    "a-renewal-that-failed-is-not-tried-again" breaks Uncaused in Faulty:
        RenewedLease::renew { Some(now.saturating_add(retry_pause(left, self.ttl))) } => { None };

    "keys-put-back-without-proof" breaks Unproven in Faulty:
        conclude {} => { shared.claim.restore(extension.ttl); };

    "keys-put-back-behind-the-release" breaks Leftover in Faulty:
        Claim::restore { if is_late } => { if false };

    "keys-put-back-and-not-released" breaks Leftover in Faulty:
        Claim::send_to { restored | } => {};

    "released-before-renewal-is-stopped" breaks ExtendedReleased in Faulty:
        LeaseShared::release {} => { self.claim.release(); };

    "a-release-that-was-refused-is-forgotten" breaks Leftover in Faulty:
        Link::owe { self.lock().owed.push_back } => { drop };

    "release-not-repeated-after-reconnection" breaks Leftover in Faulty:
        Link::repeat { owed.until > now } => { false };

    "a-release-waits-for-ever" breaks Settles in Faulty:
        Round::wait_until_decided { before(clock, until, self.decided()) } => { self.decided() };
}
