//! The mutants of nodes that may have forgotten locks.

mutants! {
    "new-epochs-not-heeded" breaks Unvouched in Forgetful:
        LeaseHandle::recheck { !self.shared.claim.is_vouched_for() } => { false };

    "a-lease-that-nobody-forgot-is-forgotten" breaks Uncaused in Calm:
        LeaseHandle::recheck { !self.shared.claim.is_vouched_for() } => { true };

    "stragglers-vouch-whenever-they-come" breaks Unvouched in Forgetful:
        Claim::vouching_seats { & self.acquisition.seats().in_time } => {};

    "grants-of-an-earlier-epoch-count" breaks Unvouched in Forgetful:
        is_current_grant { *epoch == node.epoch() } => { *epoch <= node.epoch() };

    "restart-check-off" breaks Exclusion in Forgetful:
        NodeCheck::check { self.judge(&facts) } => { Action::Vote };

    "quarantine-too-short" breaks Exclusion in Forgetful:
        quarantine { longest.saturating_add(margin) } => { (longest + margin) / 4 };
}
