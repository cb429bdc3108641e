//! What a successful extension proves where keys may be lost at any moment: whose yes may count.
//!
//! A lost key lets a second lease in, and no quorum can help it. But the first holder should notice
//! at its next extension. It does if a yes says that our key has been there *all the time*; a key
//! that came later says less.

use redlock_model::exclusion::{
    Counting, Exclusion, Extension, Keys, Promise, Restoring, landmark as reached,
};
use redlock_model::verdict::{breaks, holds};

const TWO: Exclusion<3, 2> = Exclusion {
    keys: Keys::Lost,
    promise: Promise::Unbroken,
    rounds: 1,
    ..Exclusion::rules()
};
const ONE: Exclusion<3, 1> = Exclusion {
    keys: Keys::Lost,
    promise: Promise::Unbroken,
    ..Exclusion::rules()
};

#[test]
fn an_extension_that_counts_firm_nodes_only_proves_possession() {
    let counting = Counting::FirmOnly;
    holds(&Exclusion { counting, ..TWO }, 12_000, reached::EXTENDED);
    let model = Exclusion {
        counting,
        rounds: 3,
        ..TWO
    };
    holds(&model, 60_000, reached::EXTENDED);
}

#[test]
fn restored_keys_may_count_once_they_are_firm() {
    let counting = Counting::FirmOnly;
    let restoring = Restoring::OneAtATime;
    let landmarks = reached::EXTENDED | reached::RESTORED | reached::RESTS_ON_LATE_KEY;
    let model = Exclusion {
        counting,
        restoring,
        rounds: 4,
        ..TWO
    };
    holds(&model, 2_000_000, landmarks);
    let model = Exclusion {
        counting,
        restoring,
        rounds: 6,
        ..ONE
    };
    holds(&model, 30_000, landmarks);
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
fn an_extension_that_makes_keys_again_hides_that_another_had_the_lock() {
    let model = Exclusion {
        extension: Extension::Recreate,
        promise: Promise::NobodyBetween,
        ..TWO
    };
    breaks(&model, 14);
}

/// Two `SET`s of one token at a node: the second brings back a key that was firm and then lost.
#[test]
fn a_second_set_while_the_first_is_unanswered_brings_back_a_lost_key() {
    let model = Exclusion {
        counting: Counting::FirmOnly,
        restoring: Restoring::Freely,
        rounds: 3,
        ..ONE
    };
    breaks(&model, 22);
}
