//! The quorum as it is designed: two leases are never valid at once, as long as no key vanishes
//! before the lease is over that it stands for.

use redlock_model::exclusion::{Exclusion, Restoring, landmark as reached};
use redlock_model::verdict::holds;

const TWO: Exclusion<3, 2> = Exclusion::rules();
const THREE: Exclusion<3, 3> = Exclusion::rules();

const BASE: u32 = reached::SUCCESSION | reached::LEFTOVER_KEY;

#[test]
fn one_lease_at_a_time() {
    holds(&THREE, 11_000, BASE | reached::SPLIT);
    holds(&Exclusion::<4, 3>::rules(), 39_000, BASE | reached::SPLIT);
    holds(&Exclusion::<5, 3>::rules(), 100_000, BASE | reached::SPLIT);
}

#[test]
fn extended_lease_excludes_though_missed_keys_expire() {
    let landmarks = BASE | reached::EXTENDED | reached::OLD_KEY_EXPIRED;
    holds(&Exclusion { rounds: 1, ..THREE }, 40_000, landmarks);
    holds(&Exclusion { rounds: 3, ..TWO }, 10_000, landmarks);
}

#[test]
fn nodes_restarted_empty_are_harmless_under_the_restart_check() {
    let landmarks = BASE | reached::EXTENDED | reached::CHECKED;
    let restarts = 1;
    holds(
        &Exclusion {
            rounds: 1,
            restarts,
            ..THREE
        },
        180_000,
        landmarks,
    );
    let restarts = 3;
    holds(
        &Exclusion {
            rounds: 3,
            restarts,
            ..TWO
        },
        80_000,
        landmarks,
    );
}

/// Delayed at will, and arriving long after the lease is over.
#[test]
fn restoring_keys_does_not_let_two_in() {
    let restoring = Restoring::Freely;
    let landmarks = BASE | reached::EXTENDED | reached::RESTORED;
    let model = Exclusion {
        rounds: 1,
        restoring,
        ..THREE
    };
    holds(&model, 200_000, landmarks | reached::SPLIT);
    let landmarks = landmarks | reached::RESTS_ON_LATE_KEY;
    holds(
        &Exclusion {
            rounds: 2,
            restoring,
            ..TWO
        },
        48_000,
        landmarks,
    );
}

#[test]
fn restoring_keys_is_safe_under_the_restart_check() {
    let restoring = Restoring::Freely;
    let landmarks = BASE | reached::EXTENDED | reached::RESTORED | reached::CHECKED;
    let checked = Exclusion { restoring, ..TWO };
    let model = Exclusion {
        rounds: 2,
        restarts: 2,
        ..checked
    };
    holds(&model, 400_000, landmarks | reached::RESTS_ON_LATE_KEY);
    let three = Exclusion {
        rounds: 1,
        restarts: 1,
        restoring,
        ..THREE
    };
    holds(&three, 650_000, landmarks);
}
