//! What a successful extension proves where keys may be lost at any moment: whose yes may count.
//!
//! A lost key lets a second lease in, and no quorum can help it. But the first holder should notice
//! at its next extension. It does if a yes says that our key has been there *all the time*; a key
//! that came later says less.

use redlock_model::exclusion::{
    Counting, Exclusion, Extension, Keys, Promise, RestartCheck, Restoring, landmark as reached,
};
use redlock_model::verdict::{breaks, holds};

const TWO: Exclusion<3, 2> = Exclusion {
    keys: Keys::Lost,
    promise: Promise::Unbroken,
    rounds: 1,
    ..Exclusion::rules()
};

/// The rule: as above, and what the client hears of in time counts at once.
const RULE: Exclusion<3, 2> = Exclusion {
    keys: Keys::LostLater,
    counting: Counting::Continuous,
    ..TWO
};
const ONE: Exclusion<3, 1> = Exclusion {
    keys: Keys::LostLater,
    counting: Counting::Continuous,
    promise: Promise::Unbroken,
    ..Exclusion::rules()
};

#[test]
fn stragglers_count_at_once_while_the_first_keys_cannot_be_gone() {
    holds(&RULE, 11_000, reached::EXTENDED);
    let model = Exclusion { rounds: 3, ..RULE };
    holds(&model, 69_000, reached::EXTENDED);
    let model = Exclusion {
        restoring: Restoring::OneAtATime,
        rounds: 4,
        ..RULE
    };
    let landmarks = reached::EXTENDED | reached::RESTORED | reached::RESTS_ON_LATE_KEY;
    holds(&model, 2_000_000, landmarks);
    let model = Exclusion {
        restoring: Restoring::OneAtATime,
        rounds: 6,
        ..ONE
    };
    holds(&model, 40_000, landmarks);
}

/// A node that restarts empty is no exception: under the restart check it grants nothing meanwhile.
#[test]
fn stragglers_count_at_once_although_nodes_restart_empty() {
    let model = Exclusion {
        keys: Keys::Timed,
        promise: Promise::NobodyBetween,
        rounds: 2,
        restarts: 2,
        ..RULE
    };
    holds(&model, 40_000, reached::EXTENDED | reached::CHECKED);
    let restart_check = RestartCheck::Off;
    breaks(
        &Exclusion {
            restart_check,
            ..model
        },
        15,
    );
}

#[test]
fn straggler_counted_at_any_time_hides_a_lost_majority() {
    let counting = Counting::AnyStraggler;
    breaks(&Exclusion { counting, ..RULE }, 11);
    let promise = Promise::NobodyBetween;
    let model = Exclusion {
        counting,
        promise,
        ..RULE
    };
    breaks(&model, 17);
}

/// What the rule rests on: a time for stragglers that is longer than the first keys live for
/// certain, or keys that are deleted by hand in it.
#[test]
fn straggler_counted_after_lost_keys_hides_a_lost_majority() {
    let keys = Keys::Lost;
    breaks(&Exclusion { keys, ..RULE }, 10);
}

/// The key may have come between the beginning of the round that found it and its yes.
#[test]
fn node_continuous_after_one_yes_hides_a_lost_majority() {
    let model = Exclusion {
        counting: Counting::FoundOnce,
        rounds: 2,
        ..RULE
    };
    breaks(&model, 13);
}

/// The straggler of the acquisition is granted after the majority was lost and fills the gap.
#[test]
fn a_late_grant_hides_a_lost_majority() {
    breaks(&TWO, 10);
}

#[test]
fn a_late_grant_hides_that_another_had_the_lock_in_between() {
    let promise = Promise::NobodyBetween;
    breaks(&Exclusion { promise, ..TWO }, 15);
}

#[test]
fn a_restored_key_hides_a_lost_majority() {
    let model = Exclusion {
        counting: Counting::NoStragglers,
        restoring: Restoring::Freely,
        rounds: 2,
        ..TWO
    };
    breaks(&model, 16);
}

#[test]
fn extension_that_makes_keys_again_hides_another_holder() {
    let model = Exclusion {
        extension: Extension::Recreate,
        promise: Promise::NobodyBetween,
        ..TWO
    };
    breaks(&model, 14);
}

/// Two `SET`s of one token at a node: the second brings back a key that was continuous and then lost.
#[test]
fn second_set_before_an_answer_brings_back_a_lost_key() {
    let model = Exclusion {
        restoring: Restoring::Freely,
        rounds: 4,
        ..ONE
    };
    breaks(&model, 19);
}
