//! Each rule of the quorum left out, and what happens then: a shortest counterexample.

use redlock_model::exclusion::{
    Decision, Exclusion, Extension, Owner, Quorum, Release, RestartCheck, Restoring,
};
use redlock_model::verdict::breaks;

const TWO: Exclusion<3, 2> = Exclusion::rules();
/// What harms the holder without its knowing needs a third to profit from it.
const THREE: Exclusion<3, 3> = Exclusion::rules();

#[test]
fn half_of_the_nodes_are_no_quorum() {
    let quorum = Quorum::Half;
    let rules = Exclusion::<4, 2>::rules();
    breaks(&Exclusion { quorum, ..rules }, 8);
    let rules = Exclusion::<2, 2>::rules();
    breaks(&Exclusion { quorum, ..rules }, 6);
}

#[test]
fn a_majority_of_connected_nodes_is_no_quorum() {
    let quorum = Quorum::OfConnected;
    breaks(&Exclusion { quorum, ..TWO }, 6);
}

#[test]
fn acquisition_longer_than_its_ttl_lets_two_in() {
    let decision = Decision::AnyTime;
    breaks(&Exclusion { decision, ..TWO }, 9);
}

#[test]
fn a_plain_delete_releases_somebody_elses_lock() {
    let release = Release::PlainDelete;
    breaks(&Exclusion { release, ..THREE }, 11);
}

#[test]
fn a_release_under_a_running_body_lets_the_next_one_in() {
    let release = Release::UnderTheBody;
    breaks(&Exclusion { release, ..TWO }, 10);
}

#[test]
fn late_release_undoes_a_retry_with_the_same_token() {
    let owner = Owner::EachClient;
    breaks(&Exclusion { owner, ..THREE }, 11);
}

#[test]
fn an_extension_by_set_takes_what_another_was_granted() {
    let extension = Extension::Overwrite;
    breaks(
        &Exclusion {
            extension,
            rounds: 1,
            ..TWO
        },
        13,
    );
}

#[test]
fn a_node_that_restarted_empty_must_not_vote_at_once() {
    let restart_check = RestartCheck::Off;
    breaks(
        &Exclusion {
            restart_check,
            restarts: 1,
            ..TWO
        },
        9,
    );
}

/// A restored key is a vote. The attempt that the node granted before its restart may still win by
/// that grant.
#[test]
fn a_key_restored_at_a_node_that_must_not_vote_yet_lets_two_in() {
    let model = Exclusion {
        restart_check: RestartCheck::OnForAcquisitions,
        restoring: Restoring::Freely,
        rounds: 2,
        restarts: 1,
        ..TWO
    };
    breaks(&model, 21);
}
