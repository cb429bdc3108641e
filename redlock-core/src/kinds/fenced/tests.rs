//! The calls of locks with a fencing token, and their counters.

use super::Fenced;
use super::kind::Counters;
use crate::kinds::golden::{self, Golden, TTL, on_keys, token};
use crate::model::resource::{RESERVED_PREFIX, Resource};
use crate::node::hash_slot::slot_of;
use crate::node::{Answer, Value, Vote};
use crate::quorum::kind::Kind as _;

pub(crate) fn golden() -> Vec<Golden> {
    let mut calls = Vec::new();
    let mut add = |what, call, has_marker| {
        calls.push(Golden::new(format!("fenced {what}"), call).marked(has_marker));
    };
    let locks = || on_keys(["r", "a b"]).map(|(names, keys)| (names, Fenced::new(keys, b"")));
    for (names, lock) in locks() {
        for (marker, has_marker) in [("without marker", false), ("with marker", true)] {
            let what = format!("acquire, keys {names}, {marker}, hint 7");
            add(what, golden::acquire(&lock), has_marker);
        }
    }
    for (names, lock) in locks() {
        let confirm = lock.confirm(&token(), 9, TTL).unwrap();
        add(format!("confirm, keys {names}, counter 9"), confirm, true);
    }
    for (names, lock) in locks() {
        add(
            format!("extend, keys {names}"),
            lock.extend(&token(), TTL),
            true,
        );
    }
    calls
}

#[test]
fn an_acquisition_replies_with_the_counter() {
    let call = golden::acquire(&Fenced::new("r".into(), b""));
    let (value, epoch) = (Value::Int(9), 3);
    let granted = Vote::Granted {
        counter: Some(9),
        epoch,
        choice: None,
    };
    assert_eq!(call.vote(Answer::Reply { value, epoch }), granted);
}

#[test]
fn a_counter_is_in_the_slot_of_its_lock() {
    let (mut counters, prefixes) = (Vec::new(), [&b""[..], b"shop:"]);
    for prefix in prefixes {
        for name in [&b"order:42"[..], b"{order:42}", b"a{b}c", b"x{", b"\xff"] {
            let key = [prefix, name].concat();
            let counter = Counters::new(&Resource::from(key.clone()), prefix);
            let counter = counter.keys().next().unwrap();
            assert_eq!(slot_of(&counter), slot_of(&key), "{}", key.escape_ascii());
            assert!(counter.starts_with(&[prefix, RESERVED_PREFIX].concat()));
            counters.push(counter);
        }
    }
    let all = counters.len();
    counters.sort();
    counters.dedup();
    assert_eq!(counters.len(), all, "no two locks share a counter");
}
