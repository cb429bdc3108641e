//! The calls of plain locks, and what the replies mean.

use crate::kinds::golden::{self, Golden, TTL, on_keys, token};
use crate::kinds::plain;
use crate::model::resource::Resource;
use crate::node::{Answer, Holding, Remaining, Value, Vote};

pub(crate) fn golden() -> Vec<Golden> {
    let mut calls = Vec::new();
    let mut add = |what, names, call| {
        calls.push(Golden::new(format!("exclusive {what}, keys {names}"), call));
    };
    for (names, keys) in on_keys(["r", "a b"]) {
        add("acquire", names, golden::acquire(&*plain(&keys)));
    }
    for (names, keys) in on_keys(["r", "a b"]) {
        add("extend", names, plain(&keys).extend(&token(), TTL));
    }
    for (names, keys) in on_keys(["r", "a b"]) {
        add("restore", names, plain(&keys).restore(&token(), TTL));
    }
    for (names, keys) in on_keys(["r", "a b"]) {
        add("release", names, plain(&keys).release(&token(), TTL, true));
    }
    for (names, count) in [("r1 to r8", 8), ("r1 to r9", 9)] {
        let keys = Resource::all((1..=count).map(|number| format!("r{number}")));
        add("release", names, plain(&keys).release(&token(), TTL, true));
    }
    calls
}

#[test]
fn what_a_script_that_acquires_replies() {
    let call = golden::acquire(&*plain(&Resource::all(["a", "b"])));
    let vote = |value| call.vote(Answer::Reply { value, epoch: 3 });
    let (counter, epoch, choice) = (None, 3, None);
    let granted = Vote::Granted {
        counter,
        epoch,
        choice,
    };
    assert_eq!(vote(Value::Int(1)), granted);
    let held = Vote::Held(Holding::by("web/1/2"));
    assert_eq!(vote(Value::text(*b"web/1/2")), held);
    let no_lock = Vote::Held(Holding::unknown(Remaining::NotALock));
    assert_eq!(vote(Value::Int(0)), no_lock);
    // The replies of `SET NX`.
    for value in [Value::Nil, Value::Int(2)] {
        assert!(matches!(vote(value), Vote::Failed(_)));
    }
}
