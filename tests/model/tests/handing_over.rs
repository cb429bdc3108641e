//! A lease that goes from one holder to the next of the same process as it is, and what happens with each
//! rule of that left out.

use redlock_model::exclusion::{
    Counting, Exclusion, Handing, Keys, Network, Promise, Restoring, landmark as reached,
};
use redlock_model::verdict::{breaks, holds};

const TWO: Exclusion<3, 2> = Exclusion {
    handing: Handing::AsItIs,
    ..Exclusion::rules()
};
const THREE: Exclusion<3, 3> = Exclusion {
    handing: Handing::AsItIs,
    ..Exclusion::rules()
};

const BASE: u32 =
    reached::SUCCESSION | reached::LEFTOVER_KEY | reached::ALL_OVER | reached::TAKEN_OVER;

#[test]
fn one_lease_at_a_time_though_it_is_handed_over() {
    holds(&THREE, 12_000, BASE | reached::SPLIT);
    let model = Exclusion { rounds: 1, ..THREE };
    holds(&model, 81_000, BASE | reached::EXTENDED);
}

#[test]
fn nodes_that_restart_empty_do_not_matter_under_the_restart_check() {
    let landmarks = BASE | reached::CHECKED;
    let restarts = 1;
    holds(&Exclusion { restarts, ..THREE }, 31_000, landmarks);
    let (rounds, restarts) = (2, 2);
    let model = Exclusion {
        rounds,
        restarts,
        ..TWO
    };
    holds(&model, 54_000, landmarks | reached::EXTENDED);
}

/// Put back before the lock is handed over, and arriving at any time behind that.
#[test]
fn keys_that_are_put_back_late_do_not_matter() {
    let landmarks = BASE | reached::EXTENDED | reached::RESTORED;
    let (rounds, restoring) = (1, Restoring::Freely);
    let model = Exclusion {
        rounds,
        restoring,
        ..THREE
    };
    holds(&model, 270_000, landmarks);
    let model = Exclusion {
        rounds,
        restoring,
        restarts: 1,
        ..TWO
    };
    holds(&model, 20_000, landmarks | reached::CHECKED);
}

#[test]
fn an_extension_of_what_was_handed_over_proves_possession() {
    let model = Exclusion {
        counting: Counting::FirmOnly,
        keys: Keys::Lost,
        rounds: 3,
        promise: Promise::Unbroken,
        ..TWO
    };
    holds(&model, 140_000, reached::EXTENDED | reached::TAKEN_OVER);
}

#[test]
fn no_key_is_left_once_everything_has_arrived_in_order() {
    let (promise, network) = (Promise::NothingLeft, Network::InOrder);
    let landmarks = reached::ALL_OVER | reached::TAKEN_OVER;
    let model = Exclusion {
        promise,
        network,
        ..THREE
    };
    holds(&model, 490_000, landmarks);
    let model = Exclusion {
        promise,
        network,
        rounds: 1,
        restoring: Restoring::Freely,
        ..TWO
    };
    holds(&model, 20_000, landmarks | reached::RESTORED);
}

fn handing(handing: Handing) -> Exclusion<3, 2> {
    Exclusion {
        handing,
        ..Exclusion::rules()
    }
}

#[test]
fn to_take_a_lease_over_does_not_begin_its_time_again() {
    breaks(&handing(Handing::DeadlineRestarted), 10);
}

#[test]
fn a_release_by_whoever_passed_the_lease_on_lets_the_next_one_in() {
    breaks(&handing(Handing::ReleasedAllTheSame), 10);
}

#[test]
fn a_lease_that_is_over_cannot_be_taken_over() {
    breaks(&handing(Handing::TakenOverLate), 11);
}
