//! A lock that goes from one holder to the next of the same process without being free in between, and
//! what happens with each rule of that left out.

use redlock_model::exclusion::{
    Counting, Exclusion, Handing, Keys, Network, Promise, RestartCheck, Restoring,
    landmark as reached,
};
use redlock_model::verdict::{breaks, holds};

const TWO: Exclusion<3, 2> = Exclusion {
    handing: Handing::Both,
    ..Exclusion::rules()
};
const THREE: Exclusion<3, 3> = Exclusion {
    handing: Handing::Both,
    ..Exclusion::rules()
};

const BASE: u32 = reached::SUCCESSION
    | reached::LEFTOVER_KEY
    | reached::ALL_OVER
    | reached::SUCCEEDED
    | reached::TAKEN_OVER;

/// Several may succeed the same one, whether it had a lease or failed, and at any time after its end.
#[test]
fn one_lease_at_a_time_though_it_is_handed_over() {
    holds(&THREE, 80_000, BASE | reached::SPLIT);
    let model = Exclusion { rounds: 1, ..THREE };
    holds(&model, 500_000, BASE | reached::EXTENDED);
}

#[test]
fn nodes_that_restart_empty_do_not_matter_under_the_restart_check() {
    let landmarks = BASE | reached::CHECKED;
    let restarts = 1;
    holds(&Exclusion { restarts, ..THREE }, 190_000, landmarks);
    let (rounds, restarts) = (2, 2);
    let model = Exclusion {
        rounds,
        restarts,
        ..TWO
    };
    holds(&model, 110_000, landmarks | reached::EXTENDED);
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
    holds(&model, 1_800_000, landmarks);
    let model = Exclusion {
        rounds,
        restoring,
        restarts: 1,
        ..TWO
    };
    holds(&model, 45_000, landmarks | reached::CHECKED);
}

#[test]
fn an_extension_of_what_was_handed_over_proves_possession() {
    for promise in [Promise::Unbroken, Promise::NobodyBetween] {
        let model = Exclusion {
            counting: Counting::FirmOnly,
            keys: Keys::Lost,
            rounds: 3,
            promise,
            ..TWO
        };
        let landmarks = reached::EXTENDED | reached::SUCCEEDED | reached::TAKEN_OVER;
        holds(&model, 170_000, landmarks);
    }
}

/// Some nodes may be out of reach when the lock is handed over.
#[test]
fn no_key_is_left_once_everything_has_arrived_in_order() {
    let (promise, network) = (Promise::NothingLeft, Network::InOrder);
    let landmarks = reached::ALL_OVER | reached::SUCCEEDED | reached::TAKEN_OVER;
    let model = Exclusion {
        promise,
        network,
        ..THREE
    };
    holds(&model, 690_000, landmarks);
    let model = Exclusion {
        promise,
        network,
        rounds: 1,
        restoring: Restoring::Freely,
        ..TWO
    };
    holds(&model, 23_000, landmarks | reached::RESTORED);
}

fn handing<const ATTEMPTS: usize>(handing: Handing) -> Exclusion<3, ATTEMPTS> {
    Exclusion {
        handing,
        ..Exclusion::rules()
    }
}

#[test]
fn a_successor_of_a_lease_that_is_still_used_takes_its_keys() {
    breaks(&handing::<2>(Handing::UnderTheBody), 8);
}

#[test]
fn a_swap_that_does_not_compare_takes_what_another_was_granted() {
    breaks(&handing::<3>(Handing::Overwriting), 10);
}

#[test]
fn a_key_of_the_one_before_is_no_vote_for_its_successor() {
    breaks(&handing::<3>(Handing::GrantsInherited), 8);
}

#[test]
fn a_late_plain_delete_takes_the_successors_keys() {
    breaks(&handing::<3>(Handing::DeletedBehind), 13);
}

#[test]
fn to_take_a_lease_over_does_not_begin_its_time_again() {
    breaks(&handing::<2>(Handing::DeadlineRestarted), 10);
}

#[test]
fn a_release_by_whoever_passed_the_lease_on_lets_the_next_one_in() {
    breaks(&handing::<2>(Handing::ReleasedAllTheSame), 10);
}

#[test]
fn a_lease_that_is_over_cannot_be_taken_over() {
    breaks(&handing::<2>(Handing::TakenOverLate), 10);
}

#[test]
fn a_node_that_must_not_vote_yet_must_not_grant_a_successor() {
    let restart_check = RestartCheck::OnButForSuccessors;
    breaks(
        &Exclusion {
            restart_check,
            restarts: 1,
            ..THREE
        },
        11,
    );
}

#[test]
fn what_was_handed_over_and_is_released_nowhere_leaves_keys() {
    let model = Exclusion {
        promise: Promise::NothingLeft,
        network: Network::InOrder,
        ..handing::<2>(Handing::NotReleased)
    };
    breaks(&model, 10);
}

#[test]
fn a_successor_that_overtakes_a_straggler_leaves_its_key() {
    let model = Exclusion {
        promise: Promise::NothingLeft,
        network: Network::InOrder,
        ..handing::<2>(Handing::Overtaking)
    };
    breaks(&model, 13);
}
