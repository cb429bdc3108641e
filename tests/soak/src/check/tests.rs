//! Histories made by hand: the check is able to fail, and does not where nothing is wrong.

use super::*;

fn check(lines: &str) -> Vec<Violation> {
    let mut history = History::default();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        history.read_line(line);
    }
    let mut found = violations(&history, &[]);
    found.sort_by_key(ToString::to_string);
    found
}

fn id(worker: u32, number: u32) -> LeaseId {
    LeaseId { worker, number }
}

#[test]
fn leases_one_after_the_other_are_fine() {
    let found = check(
        "enter 1.1 r 100 110 400 7
         leave 1.1 200 valid
         enter 2.1 r 150 210 500 8
         until 2.1 900 renewed
         leave 2.1 800 valid
         enter 1.2 r 700 800 900 -
         leave 1.2 850 valid
         enter 1.3 other 700 710 900 1
         leave 1.3 850 valid",
    );
    assert_eq!(found, []);
}

#[test]
fn overlap_is_found() {
    let found = check(
        "enter 1.1 r 100 110 400 7
         enter 2.1 r 200 299 600 8
         leave 1.1 300 valid
         leave 2.1 500 valid",
    );
    assert_eq!(found, [Violation::Overlap(id(1, 1), id(2, 1), 1)]);
}

#[test]
fn leases_on_several_names_overlap_on_each_name_and_are_found_once() {
    let found = check(
        "enter 1.1 a+b 100 110 400 7
         leave 1.1 200 valid
         enter 2.1 c+d 100 120 400 8
         leave 2.1 300 valid
         enter 3.1 b+c+d 200 210 500 9
         leave 3.1 400 valid",
    );
    assert_eq!(found, [Violation::Overlap(id(2, 1), id(3, 1), 90)]);
    let found = check(
        "enter 1.1 a+b 100 110 400 9
         leave 1.1 200 valid
         enter 2.1 b+c 300 310 500 8
         leave 2.1 400 valid",
    );
    assert_eq!(found, [Violation::TokenOrder(id(1, 1), id(2, 1))]);
}

#[test]
fn a_killed_holder_keeps_the_lock_until_the_last_deadline_that_it_wrote() {
    let killed = "enter 1.1 r 100 110 400 -
                  until 1.1 600 extended\n";
    let within = check(&format!("{killed}enter 2.1 r 500 599 900 -"));
    assert_eq!(within, [Violation::Overlap(id(1, 1), id(2, 1), 1)]);
    assert_eq!(check(&format!("{killed}enter 2.1 r 500 600 900 -")), []);
}

#[test]
fn a_token_given_out_twice_is_found() {
    let found = check(
        "enter 1.1 r 100 110 400 7
         leave 1.1 200 valid
         enter 2.1 r 210 220 400 7
         leave 2.1 300 valid",
    );
    assert_eq!(found, [Violation::SameToken(id(1, 1), id(2, 1))]);
}

#[test]
fn tokens_out_of_order_are_found() {
    // The second attempt began while the first holder was inside: the order is of the holders.
    let found = check(
        "enter 1.1 r 100 110 400 8
         leave 1.1 200 valid
         enter 2.1 r 105 220 400 7
         leave 2.1 300 valid",
    );
    assert_eq!(found, [Violation::TokenOrder(id(1, 1), id(2, 1))]);
}

#[test]
fn the_token_of_a_lease_that_was_over_at_once_is_in_order_too() {
    let over_at_once = |began: u32| {
        format!(
            "enter 1.1 r 100 110 400 8
             leave 1.1 200 valid
             enter 2.1 r {began} 500 500 7
             leave 2.1 500 expired",
        )
    };
    let found = check(&over_at_once(111));
    assert_eq!(found, [Violation::TokenOrder(id(1, 1), id(2, 1))]);
    assert_eq!(
        check(&over_at_once(110)),
        [],
        "it may have been granted first"
    );
}

#[test]
fn readers_overlap_each_other_and_nobody_else() {
    let readers = "enter 1.1 r/reads 100 110 400 7
                   enter 2.1 r/reads 120 130 500 7
                   leave 1.1 300 valid
                   leave 2.1 400 valid\n";
    assert_eq!(check(readers), []);
    let beside = check(&format!("{readers}enter 3.1 r 350 399 600 8"));
    assert_eq!(beside, [Violation::Overlap(id(2, 1), id(3, 1), 1)]);
    let within = check(
        "enter 1.1 r 100 110 400 -
         enter 2.1 r/reads 120 399 500 -
         leave 1.1 400 valid",
    );
    assert_eq!(within, [Violation::Overlap(id(1, 1), id(2, 1), 1)]);
}

#[test]
fn a_reader_has_at_least_the_token_of_each_earlier_writer_and_less_than_each_later_one() {
    let tokens = |one: &str, token: u32, other: &str, next: u32| {
        check(&format!(
            "enter 1.1 r{one} 100 110 400 {token}
             leave 1.1 200 valid
             enter 2.1 r{other} 205 210 400 {next}
             leave 2.1 300 valid",
        ))
    };
    let disorder = [Violation::TokenOrder(id(1, 1), id(2, 1))];
    assert_eq!(tokens("", 7, "/reads", 7), []);
    assert_eq!(tokens("", 7, "/reads", 6), disorder);
    assert_eq!(tokens("/reads", 7, "", 8), []);
    assert_eq!(tokens("/reads", 7, "", 7), disorder);
    assert_eq!(
        tokens("/reads", 7, "/reads", 6),
        [],
        "readers have no order"
    );
}

#[test]
fn the_token_of_a_writer_that_was_over_at_once_is_above_that_of_earlier_readers() {
    let over_at_once = |token: u32| {
        check(&format!(
            "enter 1.1 r/reads 100 110 400 8
             leave 1.1 200 valid
             enter 2.1 r 111 500 500 {token}
             leave 2.1 500 expired",
        ))
    };
    assert_eq!(over_at_once(8), [Violation::TokenOrder(id(1, 1), id(2, 1))]);
    assert_eq!(over_at_once(9), []);
}

#[test]
fn a_valid_holder_whom_the_store_refuses_is_found() {
    let found = check(
        "enter 1.1 r 100 110 400 7
         unfit 1.1 9
         leave 1.1 300 valid",
    );
    assert_eq!(found, [Violation::Unfit(id(1, 1), 9)]);
}

#[test]
fn a_store_that_takes_late_writes_is_found() {
    let write = |token, is_accepted| Write {
        resource: "r".to_owned(),
        token,
        is_read: false,
        is_accepted,
    };
    let refused = [
        write(7, true),
        write(9, true),
        write(9, true),
        write(7, false),
    ];
    assert_eq!(violations(&History::default(), &refused), []);
    let taken = [write(9, true), write(7, true)];
    let found = violations(&History::default(), &taken);
    assert_eq!(found, [Violation::Store(write(7, true))]);
}

#[test]
fn what_is_no_history_is_found() {
    for line in ["enter 1.1 r", "leave 1.1 300 valid", "broken by accident"] {
        assert!(
            matches!(check(line)[..], [Violation::Worker(_)]),
            "{line}: {:?}",
            check(line)
        );
    }
}
