//! Histories made by hand: the check is able to fail, and does not if nothing is wrong.

use super::*;
use crate::clock::Moment;
use crate::event::Event;
use crate::plan::Kind;

const ONE: LeaseId = LeaseId(1, 1);
const TWO: LeaseId = LeaseId(2, 1);
const THREE: LeaseId = LeaseId(3, 1);

/// A lease on the names, each one letter, with the moments `[began, entered, until]`.
fn held(lease: LeaseId, names: &str, moments: [Moment; 3], token: impl Into<Option<u64>>) -> Held {
    let [began, entered, until] = moments;
    Held {
        lease,
        names: names.chars().map(String::from).collect(),
        kind: Kind::Plain,
        came: began,
        began,
        entered,
        until,
        token: token.into(),
    }
}

fn reader(lease: LeaseId, moments: [Moment; 3], token: impl Into<Option<u64>>) -> Held {
    Held {
        kind: Kind::Reader,
        ..held(lease, "r", moments, token)
    }
}

fn check(leases: impl IntoIterator<Item = Held>) -> Vec<Violation> {
    check_events(leases.into_iter().map(Event::Enter))
}

fn check_events(events: impl IntoIterator<Item = Event>) -> Vec<Violation> {
    let mut history = History::default();
    events.into_iter().for_each(|event| history.add(event));
    violations(&history).into_iter().collect()
}

#[test]
fn leases_one_after_the_other_are_fine() {
    let found = check([
        held(ONE, "r", [100, 110, 200], 7),
        held(TWO, "r", [150, 210, 800], 8),
        held(THREE, "r", [700, 800, 850], None),
        held(LeaseId(1, 3), "s", [700, 710, 850], 1),
    ]);
    assert_eq!(found, []);
}

#[test]
fn overlap_is_found() {
    let found = check([
        held(ONE, "r", [100, 110, 300], 7),
        held(TWO, "r", [200, 299, 500], 8),
    ]);
    assert_eq!(found, [Violation::Overlap(ONE, TWO)]);
}

#[test]
fn leases_with_two_common_names_are_found_once() {
    let found = check([
        held(ONE, "ab", [100, 110, 200], 7),
        held(TWO, "cd", [100, 120, 300], 8),
        held(THREE, "bcd", [200, 210, 400], 9),
    ]);
    assert_eq!(found, [Violation::Overlap(TWO, THREE)]);
    let found = check([
        held(ONE, "ab", [100, 110, 200], 9),
        held(TWO, "bc", [300, 310, 400], 8),
    ]);
    assert_eq!(found, [Violation::TokenOrder(ONE, TWO)]);
}

#[test]
fn killed_holder_has_the_lock_until_its_last_deadline() {
    let check = |entered| {
        check_events([
            Event::Enter(held(ONE, "r", [100, 110, 400], None)),
            Event::Until(ONE, 600),
            Event::Enter(held(TWO, "r", [500, entered, 900], None)),
        ])
    };
    assert_eq!(check(599), [Violation::Overlap(ONE, TWO)]);
    assert_eq!(check(600), []);
}

#[test]
fn holder_that_leaves_has_the_lock_no_longer() {
    let found = check_events([
        Event::Enter(held(ONE, "r", [100, 110, 400], 7)),
        Event::Until(ONE, 600),
        Event::Until(ONE, 200),
        Event::Enter(held(TWO, "r", [150, 200, 500], 8)),
    ]);
    assert_eq!(found, []);
}

#[test]
fn token_given_out_twice_is_found() {
    let found = check([
        held(ONE, "r", [100, 110, 200], 7),
        held(TWO, "r", [210, 220, 300], 7),
    ]);
    assert_eq!(found, [Violation::SameToken(ONE, TWO)]);
}

#[test]
fn tokens_out_of_order_are_found() {
    // The second attempt began while the first holder was inside: the order is of the holders.
    let found = check([
        held(ONE, "r", [100, 110, 200], 8),
        held(TWO, "r", [105, 220, 300], 7),
    ]);
    assert_eq!(found, [Violation::TokenOrder(ONE, TWO)]);
}

#[test]
fn token_of_a_lease_over_at_once_is_in_order_too() {
    let over_at_once = |began| {
        check([
            held(ONE, "r", [100, 110, 200], 8),
            held(TWO, "r", [began, 500, 500], 7),
        ])
    };
    assert_eq!(over_at_once(111), [Violation::TokenOrder(ONE, TWO)]);
    assert_eq!(over_at_once(110), [], "it may have been granted first");
}

#[test]
fn readers_overlap_each_other_and_nobody_else() {
    let readers = [
        reader(ONE, [100, 110, 300], 7),
        reader(TWO, [120, 130, 400], 7),
    ];
    assert_eq!(check(readers.clone()), []);
    let writer = held(THREE, "r", [350, 399, 600], 8);
    let found = check(readers.into_iter().chain([writer]));
    assert_eq!(found, [Violation::Overlap(TWO, THREE)]);
    let found = check([
        held(ONE, "r", [100, 110, 400], None),
        reader(TWO, [120, 399, 500], None),
    ]);
    assert_eq!(found, [Violation::Overlap(ONE, TWO)]);
}

#[test]
fn tokens_of_a_reader_and_a_writer_are_in_order() {
    let writer = |lease, began, token| held(lease, "r", [began, began + 10, began + 90], token);
    let reader = |lease, began, token| reader(lease, [began, began + 10, began + 90], token);
    let disorder = [Violation::TokenOrder(ONE, TWO)];
    let same = [Violation::SameToken(ONE, TWO)];
    for (token, found) in [(8, &[][..]), (7, &same), (6, &disorder)] {
        assert_eq!(check([writer(ONE, 100, 7), reader(TWO, 205, token)]), found);
        assert_eq!(check([reader(ONE, 100, 7), writer(TWO, 205, token)]), found);
    }
    let found = check([reader(ONE, 100, 7), reader(TWO, 205, 6)]);
    assert_eq!(found, [], "readers have no order");
}

#[test]
fn tokens_of_readers_bind_a_writer_over_at_once() {
    let over_at_once = |token| {
        check([
            reader(ONE, [100, 110, 200], 8),
            held(TWO, "r", [111, 500, 500], token),
        ])
    };
    assert_eq!(over_at_once(7), [Violation::TokenOrder(ONE, TWO)]);
    assert_eq!(over_at_once(9), []);
}

#[test]
fn what_a_holder_finds_itself_is_found() {
    let found = check_events([
        Event::Enter(held(ONE, "r", [100, 110, 400], 7)),
        Event::Unfit(ONE, 9),
        Event::Broken("by accident".to_owned()),
    ]);
    let broken = Violation::Worker("by accident".to_owned());
    assert_eq!(found, [Violation::Unfit(ONE, 9), broken]);
}
