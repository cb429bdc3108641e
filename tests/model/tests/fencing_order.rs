//! What "increasing in acquisition order" means, exactly.
//!
//! The order of two leases is the order of their grants at the nodes that count for both. It agrees
//! with real time as far as this: a lease that was held before the first grant of another has the
//! lower token. The claims below sound alike and are too strong. Each is refuted, so that no code
//! relies on it. If keys are *not* lost, leases do not overlap and all of them agree.

use redlock_model::fencing::{Fencing, Promise};
use redlock_model::verdict::breaks;

const TWO: Fencing<3, 2> = Fencing::rules();

/// Grants decide, and a client may learn late that it has its lease.
#[test]
fn the_order_in_which_leases_are_held_is_not_the_order_of_tokens() {
    let promise = Promise::HeldOrder;
    breaks(&Fencing { promise, ..TWO }, 10);
}

/// All of the later one's grants must be later, not some.
#[test]
fn one_late_grant_does_not_make_a_late_token() {
    let promise = Promise::SomeGrantAfter;
    breaks(&Fencing { promise, ..TWO }, 10);
}

/// A grant that a lease does not rest on was never confirmed.
#[test]
fn a_node_that_does_not_count_for_both_says_nothing_about_their_order() {
    let promise = Promise::AnySharedNode;
    breaks(&Fencing { promise, ..TWO }, 12);
}
