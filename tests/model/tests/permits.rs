//! At most n holders: the rule holds, and the designs that others use let too many in.
//!
//! Run with `--nocapture` to read the counterexamples.

use redlock_model::permits::{Design, Permits, landmark};
use redlock_model::verdict::{breaks, holds};

#[test]
fn two_permits_have_two_holders_at_most() {
    let landmarks =
        landmark::ALL_HELD | landmark::SUCCESSION | landmark::LEFTOVER | landmark::LET_GO;
    holds(&Permits::<3, 3>::rules(2), 10_000, landmarks);
}

/// Each node granted another slot, so the attempt has the majority of none.
#[test]
fn an_attempt_may_have_a_slot_on_every_node_and_no_majority() {
    holds(&Permits::<3, 2>::rules(3), 10_000, landmark::SPLIT);
}

#[test]
fn one_permit_is_a_plain_lock() {
    let landmarks = landmark::ALL_HELD | landmark::SUCCESSION;
    holds(&Permits::<3, 3>::rules(1), 1_000, landmarks);
}

#[test]
fn a_plain_lock_counts_as_one_holder_while_processes_disagree_about_the_number() {
    let landmarks = landmark::ALL_HELD | landmark::PLAIN_BESIDE_PERMIT;
    let model = Permits::<3, 3>::rules(2).believing([1, 2, 2]);
    holds(&model, 10_000, landmarks);
    let model = Permits::<3, 3>::rules(3).believing([1, 2, 3]);
    holds(&model, 10_000, landmarks);
}

/// A on the nodes 1 and 2, B on 2 and 3, C on 1 and 3: no node failed, no message was lost.
#[test]
fn a_counter_at_each_node_lets_three_in_where_two_may_be() {
    let found = breaks(&Permits::<3, 3>::rules(2).by(Design::CounterAtEachNode), 12);
    assert!(found.violation.contains("hold 3 of 2"), "{found}");
}

#[test]
fn slots_that_are_not_the_same_on_a_majority_let_three_in_where_two_may_be() {
    let found = breaks(&Permits::<3, 3>::rules(2).by(Design::AnySlot), 12);
    assert!(found.violation.contains("hold 3 of 2"), "{found}");
}

/// A sees C, B sees A, C sees B.
#[test]
fn counting_in_the_replies_that_add_lets_three_in_where_two_may_be() {
    let found = breaks(&Permits::<3, 3>::rules(2).by(Design::AddAndCount), 12);
    assert!(found.violation.contains("hold 3 of 2"), "{found}");
}

mod rest {
    //! What an attempt did not win goes, once the node's answer is known or the lease is over.

    use redlock_model::permits::rest::{Rest, landmark};
    use redlock_model::verdict::{breaks, holds};

    #[test]
    fn no_key_is_left_but_those_of_the_lease() {
        holds(&Rest::<3>::RULES, 1_000, landmark::ALL);
        holds(&Rest::<5>::RULES, 10_000, landmark::ALL);
    }

    #[test]
    fn a_late_answer_that_differs_has_to_be_answered_by_a_release() {
        let found = breaks(&Rest::<3>::RULES.deaf(), 7);
        assert!(found.violation.contains("keeps"), "{found}");
    }

    #[test]
    fn a_lease_that_ends_early_has_to_release_all_permits_at_nodes_that_did_not_answer() {
        breaks(&Rest::<3>::RULES.releasing_only_what_was_won(), 8);
    }
}
