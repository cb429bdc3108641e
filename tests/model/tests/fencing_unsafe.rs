//! Each rule of the fencing token left out, and what happens then: a shortest counterexample.
//!
//! The promise is what users are told, nothing finer. Run with `--nocapture` to read the traces.

use redlock_model::fencing::{
    Acquisition, Block, Clocks, Confirm, Counters, Expiry, Fencing, HandOver, Hints, Keys, Promise,
    Restoring, Writer,
};
use redlock_model::verdict::breaks;

const TWO: Fencing<3, 2> = Fencing {
    promise: Promise::Users,
    ..Fencing::rules()
};

#[test]
fn a_token_that_nobody_confirms_is_given_twice() {
    let confirm = Confirm::Never;
    let found = breaks(&Fencing { confirm, ..TWO }, 10);
    assert!(found.violation.contains("both have token"), "{found}");
}

#[test]
fn a_confirmation_that_is_not_awaited_is_none() {
    let confirm = Confirm::NotAwaited;
    breaks(&Fencing { confirm, ..TWO }, 10);
}

#[test]
fn a_counter_raised_without_a_look_at_the_key_is_too_late() {
    let confirm = Confirm::KeyNotChecked;
    breaks(&Fencing { confirm, ..TWO }, 12);
}

#[test]
fn a_token_written_back_to_just_any_majority_is_given_twice() {
    let confirm = Confirm::AnyMajority;
    let found = breaks(&Fencing { confirm, ..TWO }, 12);
    assert!(found.violation.contains("both have token"), "{found}");
}

/// The reader comes after the writer.
#[test]
fn reader_at_a_counter_left_at_a_token_has_that_token() {
    let writer = Writer::AtTheCounter;
    let found = breaks(
        &Fencing {
            readers: 0b10,
            writer,
            ..TWO
        },
        10,
    );
    assert!(found.violation.contains("both have token"), "{found}");
}

/// The writer comes after the reader.
#[test]
fn writer_at_the_counter_has_a_readers_token() {
    let writer = Writer::OneStep;
    let found = breaks(
        &Fencing {
            readers: 0b01,
            writer,
            ..TWO
        },
        13,
    );
    assert!(found.violation.contains("both have token"), "{found}");
}

/// A straggler that answers with a counter above T may have granted after another client got T.
#[test]
fn a_node_that_answered_more_than_the_token_must_not_count() {
    let confirm = Confirm::HigherCounts;
    breaks(&Fencing { confirm, ..TWO }, 14);
}

#[test]
fn a_set_that_is_sent_twice_brings_back_a_key_that_was_lost() {
    let acquisition = Acquisition::Resent;
    breaks(&Fencing { acquisition, ..TWO }, 15);
}

/// The same thing under another name.
#[test]
fn key_restored_before_confirmation_breaks_the_order() {
    let restoring = Restoring::BeforeHeld;
    breaks(&Fencing { restoring, ..TWO }, 15);
}

#[test]
fn a_node_that_forgets_its_counter_gives_a_token_again() {
    let counters = Counters::LostAtRestart;
    breaks(&Fencing { counters, ..TWO }, 9);
}

/// The restart check keeps old attempts out, not old numbers: without a hint the counter begins at 1.
#[test]
fn the_restart_check_alone_does_not_replace_a_counter() {
    let model = Fencing {
        counters: Counters::LostAndGuarded,
        promise: Promise::StartOrder,
        ..TWO
    };
    breaks(&model, 11);
}

/// Where attempts overlap, an early one may be counted on from a late one's hint, however far apart
/// hints are: C leaves 24, and A is answered 25. If another node then loses its counter and votes at
/// once, C may leave 24 there too, and B is answered 25. So hints need the restart check.
#[test]
fn hints_alone_do_not_replace_a_counter_where_attempts_overlap() {
    let model = Fencing::<3, 3> {
        counters: Counters::LostAtRestart,
        hints: Hints::Clock(8),
        promise: Promise::StartOrder,
        ..Fencing::rules()
    };
    let found = breaks(&model, 18);
    assert!(found.violation.contains("both have token"), "{found}");
}

fn ahead<const N: usize, const A: usize>(expiry: Expiry) -> Fencing<N, A> {
    Fencing {
        clocks: Clocks::Ahead { nodes: 1, by: 20 },
        expiry,
        hints: Hints::Clock(8),
        promise: Promise::StartOrder,
        ..Fencing::rules()
    }
}

#[test]
fn counters_that_are_ahead_and_idle_away_lower_tokens() {
    breaks(&ahead::<3, 2>(Expiry::Idle), 13);
    breaks(&ahead::<1, 2>(Expiry::Idle), 11);
}

/// Blocks of up to three numbers, where hints leave room for them.
const BLOCKS: Fencing<3, 2> = blocks();

const fn blocks<const N: usize, const A: usize>() -> Fencing<N, A> {
    Fencing {
        hints: Hints::Any(&[0, 4]),
        most: 3,
        promise: Promise::Users,
        ..Fencing::rules()
    }
}

#[test]
fn block_that_is_not_confirmed_at_its_end_is_given_in_part_again() {
    let block = Block::ConfirmedAtItsFirst;
    let found = breaks(&Fencing { block, ..BLOCKS }, 9);
    assert!(found.violation.contains("both have token"), "{found}");
}

/// The reader comes after the writer.
#[test]
fn reader_is_in_the_middle_of_a_block_above_the_count() {
    let (block, readers) = (Block::AboveTheCount, 0b10);
    let found = breaks(
        &Fencing {
            block,
            readers,
            ..BLOCKS
        },
        9,
    );
    assert!(found.violation.contains("both have token"), "{found}");
}

/// The reader comes before the writer, at a node that the writer did not ask for the counter.
#[test]
fn reader_is_in_the_middle_of_a_block_that_one_node_left_open() {
    let (block, readers) = (Block::AboveOneNode, 0b01);
    let found = breaks(
        &Fencing {
            block,
            readers,
            ..BLOCKS
        },
        10,
    );
    assert!(found.violation.contains("is above"), "{found}");
}

/// Keys stay until their lease is over, so a store never refuses a lease that is held.
const fn handed_over<const N: usize, const A: usize>(hand_over: HandOver) -> Fencing<N, A> {
    Fencing {
        hand_over,
        keys: Keys::VanishOnceOver,
        promise: Promise::Store,
        ..blocks()
    }
}

#[test]
fn two_leases_with_one_number_of_a_block_are_refused() {
    breaks(&handed_over::<3, 2>(HandOver::SameNumber), 5);
}

#[test]
fn number_of_a_block_that_is_used_after_the_lease_is_refused() {
    breaks(&handed_over::<3, 2>(HandOver::AfterTheEnd), 12);
}

/// Another process has held the lock in between.
#[test]
fn block_of_a_lost_lease_used_by_the_next_one_is_refused() {
    breaks(&handed_over::<1, 3>(HandOver::OfALostLease), 13);
}

fn lost<const N: usize, const A: usize>(most: u8, hints: Hints) -> Fencing<N, A> {
    Fencing {
        most,
        hints,
        counters: Counters::LostAndGuarded,
        promise: Promise::StartOrder,
        ..Fencing::rules()
    }
}

/// The block is longer than the time between two attempts, so it reaches below the last one.
#[test]
fn block_longer_than_the_clocks_make_up_for_is_given_again() {
    let found = breaks(&lost::<3, 2>(9, Hints::Clock(8)), 11);
    assert!(found.violation.contains("both have token"), "{found}");
}

/// An attempt asked for more room than a node may give beyond its clock.
#[test]
fn block_beyond_the_clock_is_above_a_later_one() {
    let found = breaks(&lost::<3, 2>(3, Hints::Asked(8, &[0, 12])), 11);
    assert!(found.violation.contains("is above"), "{found}");
}
