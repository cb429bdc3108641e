//! The fencing token as it is designed: what holds, with no assumption on time.

use redlock_model::fencing::{
    Clocks, Counters, Expiry, Fencing, HandOver, Hints, Keys, Promise, Restoring,
    landmark as reached,
};
use redlock_model::verdict::holds;

const TWO: Fencing<3, 2> = Fencing::rules();
const THREE: Fencing<3, 3> = Fencing::rules();

/// Tokens of one round trip and confirmed ones, confirmations that come too late, and leases beside
/// each other: without these, a check of the order would check nothing.
const TWO_LEASES: u32 = reached::ONE_ROUND
    | reached::CONFIRMED
    | reached::TWO_LEASES
    | reached::CONFIRM_TOO_LATE
    | reached::STALE_HOLDER;
const THREE_LEASES: u32 = TWO_LEASES | reached::THREE_LEASES;

#[test]
fn tokens_are_unique_and_in_the_order_of_grants() {
    holds(&THREE, 500_000, THREE_LEASES);
}

#[test]
fn even_and_larger_sets_of_nodes_keep_the_order() {
    holds(
        &Fencing::<2, 3>::rules(),
        1_000,
        THREE_LEASES & !reached::STALE_HOLDER,
    );
    holds(&Fencing::<5, 2>::rules(), 90_000, TWO_LEASES);
    holds(&Fencing::<4, 2>::rules(), 7_000, TWO_LEASES);
}

/// As wild as they like: nodes apply other hints to one attempt, and later attempts have lower ones.
#[test]
fn wild_hints_do_no_harm() {
    let hints = Hints::Any(&[0, 6]);
    holds(&Fencing { hints, ..THREE }, 5_000_000, THREE_LEASES);
}

/// Blocks of up to three numbers, where hints leave room for them.
#[test]
fn numbers_of_blocks_are_unique_and_in_the_order_of_grants() {
    let landmarks = TWO_LEASES | reached::BLOCK;
    let wild = Fencing {
        hints: Hints::Any(&[0, 4]),
        most: 3,
        ..TWO
    };
    holds(&wild, 14_000, landmarks);
    let three = Fencing {
        hints: Hints::Any(&[0, 6]),
        most: 3,
        ..THREE
    };
    holds(&three, 1_000_000, landmarks | reached::THREE_LEASES);
}

#[test]
fn reader_is_outside_of_every_block() {
    for readers in [0b01, 0b10] {
        let model = Fencing {
            readers,
            hints: Hints::Any(&[0, 4]),
            most: 3,
            ..TWO
        };
        holds(&model, 20_000, TWO_LEASES | reached::BLOCK | reached::CLOSE);
    }
}

/// A store hears of each lease as it begins. Keys stay until their lease is over.
const HANDED_OVER: Fencing<3, 2> = Fencing {
    hints: Hints::Any(&[0, 4]),
    most: 3,
    hand_over: HandOver::Counting,
    keys: Keys::VanishOnceOver,
    promise: Promise::Store,
    ..TWO
};

#[test]
fn leases_that_are_taken_over_keep_the_order_of_leases() {
    let landmarks = reached::BLOCK | reached::TAKEN_OVER | reached::ONE_AFTER_THE_OTHER;
    for readers in [0b00, 0b01, 0b10] {
        let model = Fencing {
            readers,
            ..HANDED_OVER
        };
        holds(&model, 30_000, landmarks);
    }
}

/// In every order of readers and writers, and without clocks: a reader may be just above a writer.
#[test]
fn reader_is_above_earlier_writers_and_below_later_ones() {
    for readers in 0b001..=0b110_u8 {
        let together = if readers.count_ones() > 1 {
            reached::READERS
        } else {
            0
        };
        let landmarks = TWO_LEASES | reached::CLOSE | together;
        holds(&Fencing { readers, ..THREE }, 300_000, landmarks);
    }
}

/// Set again at any node and at any time after the lease was made, also long after it was over.
#[test]
fn restoring_a_key_after_the_lease_was_made_does_no_harm() {
    let restoring = Restoring::OnceHeld;
    let landmarks = THREE_LEASES | reached::KEY_IS_BACK;
    holds(&Fencing { restoring, ..THREE }, 1_800_000, landmarks);
}

/// Two attempts at most overlap here, and the order of starts is kept even by nodes that vote at
/// once after they lost their counters. For three, see `hints_alone_do_not_replace_a_counter_where_attempts_overlap` in
/// `fencing_unsafe.rs`, and below.
#[test]
fn right_clocks_make_up_for_lost_counters_between_two_attempts() {
    let model = Fencing {
        counters: Counters::LostAtRestart,
        hints: Hints::Clock(8),
        promise: Promise::StartOrder,
        ..TWO
    };
    holds(&model, 17_000, TWO_LEASES);
}

const LOST_AND_GUARDED: Fencing<3, 3> = Fencing {
    counters: Counters::LostAndGuarded,
    hints: Hints::Clock(8),
    promise: Promise::StartOrder,
    ..THREE
};
const LOST_AND_GUARDED_TWO: Fencing<3, 2> = Fencing {
    counters: Counters::LostAndGuarded,
    promise: Promise::StartOrder,
    ..TWO
};

#[test]
fn right_clocks_and_the_restart_check_make_up_for_lost_counters() {
    holds(&LOST_AND_GUARDED, 5_000_000, THREE_LEASES);
}

/// A block reaches below the hint, so clocks have to make up for its length too. Attempts ask for more room.
#[test]
fn they_do_so_for_blocks_too() {
    let model = Fencing {
        most: 3,
        hints: Hints::Asked(12, &[0, 3]),
        ..LOST_AND_GUARDED_TWO
    };
    holds(&model, 10_000, TWO_LEASES | reached::BLOCK);
    let single = Fencing {
        most: 3,
        hints: Hints::Asked(12, &[0, 3]),
        counters: Counters::LostAtRestart,
        promise: Promise::StartOrder,
        ..Fencing::<1, 4>::rules()
    };
    holds(&single, 1_000, reached::BLOCK | reached::THREE_LEASES);
}

#[test]
fn they_do_so_for_readers_too() {
    for readers in [0b010, 0b101] {
        let model = Fencing {
            readers,
            ..LOST_AND_GUARDED
        };
        holds(&model, 1_000_000, THREE_LEASES);
    }
}

/// One node sees each attempt once. Its restart check is off by default.
#[test]
fn right_clocks_make_up_for_the_lost_counter_of_a_single_node() {
    let model = Fencing {
        counters: Counters::LostAtRestart,
        hints: Hints::Clock(8),
        promise: Promise::StartOrder,
        ..Fencing::<1, 4>::rules()
    };
    holds(&model, 1_000, reached::ONE_ROUND | reached::THREE_LEASES);
}

/// The clocks of `nodes` nodes are ahead by more than the time between attempts, until they are
/// corrected, one after the other. Idle counters expire once the time has passed them.
const fn ahead<const N: usize, const A: usize>(nodes: usize) -> Fencing<N, A> {
    Fencing {
        clocks: Clocks::Ahead { nodes, by: 20 },
        expiry: Expiry::Passed,
        hints: Hints::Clock(8),
        promise: Promise::StartOrder,
        ..Fencing::rules()
    }
}

#[test]
fn wrong_clocks_are_mended_without_harm_to_the_order() {
    for nodes in 1..=3 {
        holds(&ahead::<3, 2>(nodes), 10_000, TWO_LEASES);
    }
    let landmarks = reached::ONE_ROUND | reached::THREE_LEASES;
    holds(&ahead::<1, 4>(1), 100, landmarks);
}
