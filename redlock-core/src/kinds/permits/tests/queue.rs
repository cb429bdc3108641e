//! The queue of one node, with clients that wait for a permit.

use super::*;
use crate::env::Moment;
use crate::kinds::permits::scripts::{ACQUIRE_PERMIT, LEAVE_QUEUE, SERVED};
use crate::node::{Store, Value};

const PERMITS: [&[u8]; 2] = [b"r", b"redlock:permit:1:{r}"];
const QUEUE: &[u8] = b"redlock:queue:2:{r}";

/// The time for which a refused client waits, in ms.
const ADVICE: u64 = 600;

/// The time of a call, in ms.
const CALL: u64 = 100;

/// The reply if other clients go first.
const FOR_OTHERS: Value = Value::Int(-1);

/// A node with two permits. The tests name clients by letters.
struct Site {
    store: Store,
    now: u64,
}

impl Site {
    /// Returns a node with both permits held.
    fn full() -> Self {
        let mut site = Self {
            store: Store::default(),
            now: 0,
        };
        site.pass(20_000);
        for key in PERMITS {
            site.store.set(key, b"someone", 3_600_000).unwrap();
        }
        site
    }

    fn pass(&mut self, millis: u64) {
        self.now += millis;
        let now = Duration::from_millis(self.now);
        self.store.begin(Moment::from_origin(now), now);
    }

    fn release(&mut self, permit: usize) {
        self.store.del(PERMITS[permit]);
    }

    /// Asks for a permit. A refused client waits for `advice` ms. A client with an empty name never waits.
    fn ask(&mut self, name: &str, advice: u64) -> Value {
        self.ask_with(name, advice, &[])
    }

    fn ask_with(&mut self, name: &str, advice: u64, more: &[&[u8]]) -> Value {
        self.ask_for(name, CALL, advice, more)
    }

    fn ask_for(&mut self, name: &str, call: u64, advice: u64, more: &[&[u8]]) -> Value {
        let keys = [PERMITS[0], PERMITS[1], QUEUE];
        let (advice, client) = (advice.to_string(), name_of(name));
        let call = call.to_string();
        let arguments = ["a token", "3600000", &advice, &client, &call].map(str::as_bytes);
        let arguments = [&arguments, more].concat();
        let answer = ACQUIRE_PERMIT.run(&mut self.store, &keys, &arguments);
        for key in PERMITS {
            if self.store.says(key, b"a token") {
                self.store.set(key, name.as_bytes(), 3_600_000).unwrap();
            }
        }
        answer
    }

    fn waits(&mut self, name: &str) -> Value {
        self.ask(name, ADVICE)
    }

    fn leaves(&mut self, name: &str) -> Value {
        LEAVE_QUEUE.run(&mut self.store, &[QUEUE], &[name_of(name).as_bytes()])
    }

    /// Reports to the node that a client won a permit at other nodes.
    fn wins_elsewhere(&mut self, name: &str) -> Value {
        let client = name_of(name);
        let arguments = [&client, SERVED].map(str::as_bytes);
        LEAVE_QUEUE.run(&mut self.store, &[QUEUE], &arguments)
    }

    fn entries(&self) -> usize {
        self.store.get(QUEUE).unwrap().unwrap().len() / 36
    }

    fn has_queue(&self) -> bool {
        self.store.exists(QUEUE)
    }
}

/// Returns the full name of the client with this letter.
fn name_of(letter: &str) -> String {
    match letter {
        "" => String::new(),
        _ => format!("host/1/{}", letter[..1].repeat(32)),
    }
}

fn held(by: &str) -> Value {
    Value::text(by.as_bytes())
}

#[test]
fn a_free_permit_goes_to_the_client_that_came_first() {
    let mut site = Site::full();
    assert_eq!(site.waits("a"), held("someone"));
    site.pass(1);
    assert_eq!(site.waits("b"), held("someone"));
    site.release(0);
    for late in ["b", "c", ""] {
        assert_eq!(site.waits(late), FOR_OTHERS, "{late}");
    }
    assert_eq!(site.waits("a"), Value::Int(1));
}

#[test]
fn as_many_clients_get_in_as_permits_are_free() {
    let mut site = Site::full();
    for name in ["a", "b", "c"] {
        assert_eq!(site.waits(name), held("someone"));
    }
    site.release(0);
    site.release(1);
    assert_eq!(site.waits("c"), FOR_OTHERS);
    assert_eq!(site.waits("b"), Value::Int(1));
    assert_eq!(site.waits("c"), FOR_OTHERS);
    assert_eq!(site.waits("a"), Value::Int(2));
    assert_eq!(site.waits("c"), held("b"));
}

#[test]
fn a_client_that_was_served_goes_behind_all_that_wait() {
    let mut site = Site::full();
    for name in ["a", "b"] {
        site.waits(name);
    }
    site.release(0);
    assert_eq!(site.waits("a"), Value::Int(1));
    site.release(1);
    assert_eq!(site.waits("a"), FOR_OTHERS);
    assert_eq!(site.waits("b"), Value::Int(2));
    site.release(0);
    assert_eq!(site.waits("b"), FOR_OTHERS, "it was served last");
    assert_eq!(site.waits("a"), Value::Int(1));
}

/// A holder keeps the place that its last grant gave it, although it waits for nothing.
#[test]
fn a_client_that_comes_again_goes_ahead_of_one_served_since() {
    let mut site = Site::full();
    for name in ["a", "b", "c"] {
        site.waits(name);
    }
    site.release(0);
    assert_eq!(site.waits("a"), Value::Int(1));
    site.release(1);
    assert_eq!(site.waits("b"), Value::Int(2));
    assert_eq!(site.waits("b"), held("a"));
    site.leaves("c");
    site.release(0);
    assert_eq!(site.waits("a"), Value::Int(1));
}

#[test]
fn a_grant_keeps_the_places_of_others_while_nobody_waits() {
    let mut site = Site::full();
    for name in ["a", "b"] {
        site.waits(name);
    }
    site.release(0);
    assert_eq!(site.waits("a"), Value::Int(1));
    site.release(1);
    assert_eq!(site.waits("b"), Value::Int(2));
    assert_eq!(site.waits("b"), held("a"));
    site.release(0);
    assert_eq!(site.waits("a"), Value::Int(1), "b was served since");
}

#[test]
fn a_client_that_won_elsewhere_goes_behind_all_that_wait() {
    let mut site = Site::full();
    for name in ["a", "b"] {
        site.waits(name);
    }
    assert_eq!(site.wins_elsewhere("a"), Value::Int(1));
    site.release(0);
    assert_eq!(site.waits("a"), FOR_OTHERS);
    assert_eq!(site.waits("b"), Value::Int(1));
    site.release(1);
    assert_eq!(site.waits("a"), Value::Int(2));
}

#[test]
fn a_client_that_does_not_come_when_called_loses_its_turn() {
    let mut site = Site::full();
    for name in ["a", "b", "c"] {
        site.waits(name);
    }
    site.release(0);
    assert_eq!(site.waits("c"), FOR_OTHERS);
    site.pass(CALL - 1);
    assert_eq!(site.waits("b"), FOR_OTHERS, "it comes each time");
    assert_eq!(site.waits("c"), FOR_OTHERS);
    site.pass(1);
    assert_eq!(site.waits("c"), FOR_OTHERS, "it is the turn of b");
    assert_eq!(site.waits("b"), Value::Int(1));
    // Client a has kept its place when it asks again.
    assert_eq!(site.waits("a"), held("b"));
    site.release(0);
    assert_eq!(site.waits("c"), FOR_OTHERS);
    assert_eq!(site.waits("a"), Value::Int(1));
}

#[test]
fn clients_that_died_keep_a_free_permit_back_once() {
    let mut site = Site::full();
    for name in ["a", "b", "c", "d"] {
        site.waits(name);
    }
    site.release(0);
    assert_eq!(site.waits("d"), FOR_OTHERS);
    site.pass(CALL);
    assert_eq!(site.waits("d"), Value::Int(1));
}

#[test]
fn a_client_has_the_time_of_its_own_call() {
    let mut site = Site::full();
    site.ask_for("far", 200, ADVICE, &[]);
    site.waits("b");
    site.release(0);
    assert_eq!(site.waits("b"), FOR_OTHERS);
    site.pass(2 * CALL - 1);
    assert_eq!(site.waits("b"), FOR_OTHERS);
    site.pass(1);
    assert_eq!(site.waits("b"), Value::Int(1));
}

#[test]
fn a_text_that_is_no_line_of_a_queue_counts_for_nothing() {
    for until in [
        "1e13         ",
        "inf          ",
        "0x7fffffffff ",
        "+999999999999",
    ] {
        let mut site = Site::full();
        let line = format!("dddddddddddddddd 0100 {until}\n");
        site.store.set(QUEUE, line.as_bytes(), 1000).unwrap();
        site.release(0);
        assert_eq!(site.waits("a"), Value::Int(1), "{until}");
    }
}

/// The short form of a script reads the first 557 bytes of the queue.
#[test]
fn a_queue_that_was_read_in_part_stays_as_it_is() {
    let mut site = Site::full();
    let line = "dddddddddddddddd 0100 9999999999999\n";
    let beginning = &line.repeat(16).into_bytes()[..557];
    site.store.set(QUEUE, beginning, 1000).unwrap();
    site.waits("a");
    site.leaves("a");
    assert!(site.store.says(QUEUE, beginning));
}

/// A grant ends the calls of the clients after the winner.
#[test]
fn clients_after_one_that_came_wait_on() {
    let mut site = Site::full();
    for name in ["a", "b", "c"] {
        site.waits(name);
    }
    site.release(0);
    assert_eq!(site.waits("c"), FOR_OTHERS);
    assert_eq!(site.waits("a"), Value::Int(1));
    site.pass(ADVICE - 1);
    site.release(1);
    assert_eq!(site.waits("c"), FOR_OTHERS, "b still waits");
}

#[test]
fn a_client_waits_no_longer_than_its_advice() {
    let mut site = Site::full();
    site.waits("a");
    site.pass(ADVICE);
    site.release(0);
    assert_eq!(site.waits("b"), Value::Int(1));
}

#[test]
fn a_caller_that_does_not_wait_leaves_no_line() {
    let mut site = Site::full();
    assert_eq!(site.ask("", 0), held("someone"));
    assert!(!site.has_queue());
    site.waits("a");
    site.release(0);
    assert_eq!(site.ask("", 0), FOR_OTHERS);
    site.release(1);
    assert_eq!(site.ask("", 0), Value::Int(1));
    assert_eq!(site.waits("a"), Value::Int(2));
}

#[test]
fn a_client_alone_leaves_no_queue() {
    let mut site = Site::full();
    site.release(0);
    assert_eq!(site.waits("a"), Value::Int(1));
    assert!(!site.has_queue());
    site.waits("a");
    assert!(site.has_queue());
    site.release(1);
    assert_eq!(site.waits("a"), Value::Int(2));
    assert!(!site.has_queue());
    site.waits("a");
    site.leaves("a");
    assert!(!site.has_queue());
}

#[test]
fn a_client_that_leaves_goes_out_of_the_queue() {
    let mut site = Site::full();
    assert_eq!(site.leaves("a"), Value::Int(-1));
    for name in ["a", "b"] {
        site.waits(name);
    }
    assert_eq!(site.leaves("a"), Value::Int(1));
    site.release(0);
    assert_eq!(site.waits("c"), FOR_OTHERS, "b still waits");
    assert_eq!(site.waits("b"), Value::Int(1));
}

#[test]
fn a_client_that_waits_no_longer_is_forgotten_in_the_end() {
    let mut site = Site::full();
    for name in ["a", "b"] {
        site.waits(name);
    }
    site.pass(10_000 + ADVICE);
    site.waits("b");
    site.waits("a");
    site.release(0);
    assert_eq!(site.waits("a"), FOR_OTHERS);
}

#[test]
fn a_client_that_waits_on_renews_its_own_entry_only() {
    let mut site = Site::full();
    for name in ["a", "b"] {
        site.waits(name);
    }
    for _ in 0..3 * 10_000 / ADVICE + 6 {
        site.pass(ADVICE / 3);
        site.ask_with("b", ADVICE, &[b"waits"]);
    }
    assert_eq!(site.entries(), 2);
    site.waits("a");
    site.release(0);
    assert_eq!(site.waits("a"), FOR_OTHERS, "it lost its place");
}

#[test]
fn a_wait_is_renewed_once_a_third_of_it_is_over() {
    let mut site = Site::full();
    for name in ["b", "a"] {
        site.waits(name);
    }
    let first = site.store.get(QUEUE).unwrap().unwrap().to_vec();
    for (passes, is_renewed) in [(ADVICE / 3, false), (1, true)] {
        site.pass(passes);
        assert_eq!(site.ask_with("a", ADVICE, &[b"waits"]), held("someone"));
        assert_eq!(!site.store.says(QUEUE, &first), is_renewed);
    }
    site.release(0);
    assert_eq!(site.waits("a"), FOR_OTHERS, "the other entry is gone");
}

/// Two nodes of a pool may be one server, which gets the attempt twice.
#[test]
fn an_attempt_that_was_granted_finds_its_own_token() {
    let mut site = Site::full();
    for name in ["a", "b"] {
        site.waits(name);
    }
    site.release(1);
    assert_eq!(site.ask_with("a", ADVICE, &[b"waits"]), Value::Int(2));
    let own = site.store.set(PERMITS[1], b"a token", 3_600_000);
    own.unwrap();
    assert_eq!(site.ask_with("a", ADVICE, &[b"waits"]), held("a token"));
}

#[test]
fn clients_that_are_refused_no_more_have_no_queue_in_the_end() {
    let mut site = Site::full();
    for name in ["a", "b"] {
        site.waits(name);
    }
    for _ in 0..12 {
        for (permit, name) in ["a", "b"].into_iter().enumerate() {
            site.release(permit);
            assert!(matches!(site.waits(name), Value::Int(1..)), "{name}");
        }
        site.pass(1000);
    }
    assert!(!site.has_queue());
}

#[test]
fn a_queue_of_another_form_counts_for_nothing() {
    let mut site = Site::full();
    site.store.set(QUEUE, b"by somebody else", 1000).unwrap();
    site.release(0);
    assert_eq!(site.waits("a"), Value::Int(1));
    assert!(!site.has_queue());
}

#[test]
fn a_client_in_a_streak_goes_ahead_of_all_and_calls_nobody() {
    let mut site = Site::full();
    for name in ["a", "b"] {
        site.waits(name);
    }
    site.release(0);
    assert_eq!(site.ask_with("b", ADVICE, &[b"streak"]), Value::Int(1));
    site.pass(ADVICE - 1);
    site.release(1);
    assert_eq!(site.waits("b"), FOR_OTHERS, "a waits");
}
