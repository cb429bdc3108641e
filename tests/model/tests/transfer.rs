//! A lock that is given away and claimed by a ticket: the rules hold, and what goes wrong without them.
//!
//! Run with `--nocapture` to read the counterexamples.

use redlock_model::transfer::{
    Claim, Giving, Promise, Role::Claimer, Role::Giver, Role::Other, Transfer, landmark as reached,
};
use redlock_model::verdict::{breaks, holds};

const TWO_CLAIMERS: Transfer<3, 3> = Transfer::rules([Giver, Claimer, Claimer]);
const AN_OTHER: Transfer<3, 3> = Transfer::rules([Giver, Claimer, Other]);

#[test]
fn no_two_of_giver_and_claimers_are_valid_at_once() {
    holds(
        &TWO_CLAIMERS,
        89_000,
        reached::CLAIMED | reached::SPENT | reached::LEFT,
    );
    let model = Transfer {
        puts_back: true,
        ..TWO_CLAIMERS
    };
    holds(
        &model,
        3_300_000,
        reached::CLAIMED | reached::SPENT | reached::LEFT,
    );
}

#[test]
fn a_claimer_and_an_attempt_without_a_ticket_are_not_valid_at_once() {
    let landmarks = reached::CLAIMED | reached::OTHER_BEHIND | reached::NOT_CLAIMED;
    holds(&AN_OTHER, 370_000, landmarks | reached::LEFT);
    let model = Transfer {
        puts_back: true,
        ..AN_OTHER
    };
    holds(&model, 7_100_000, landmarks | reached::LEFT);
}

#[test]
fn a_ticket_is_claimed_once() {
    let promise = Promise::OneClaim;
    let model = Transfer {
        promise,
        ..TWO_CLAIMERS
    };
    holds(&model, 89_000, reached::CLAIMED | reached::SPENT);
}

/// The limit that `client/claim.md` names: the giver's keys come back late, behind the whole lock of the
/// first claimer. The second claim is a lock like any other: it excludes.
#[test]
fn keys_that_are_put_back_behind_a_claimers_whole_lock_let_the_ticket_be_claimed_again() {
    let model = Transfer {
        promise: Promise::OneClaim,
        puts_back: true,
        ..TWO_CLAIMERS
    };
    breaks(&model, 18);
}

#[test]
fn a_ticket_of_a_lease_that_is_still_valid_lets_two_hold() {
    let giving = Giving::WhileValid;
    breaks(&Transfer { giving, ..AN_OTHER }, 8);
}

#[test]
fn a_claim_that_does_not_compare_takes_the_lock_from_another_holder() {
    let claim = Claim::Overwrites;
    breaks(&Transfer { claim, ..AN_OTHER }, 14);
}

#[test]
fn a_claim_that_keeps_the_givers_token_lets_two_claimers_hold() {
    let claim = Claim::KeepsToken;
    let found = breaks(
        &Transfer {
            claim,
            ..TWO_CLAIMERS
        },
        13,
    );
    assert!(found.violation.contains("['B', 'C']"), "{found}");
}
