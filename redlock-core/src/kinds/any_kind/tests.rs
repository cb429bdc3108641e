//! Tests of how replies about locks of any kind become votes.

use std::time::Duration;

use super::peek;
use crate::model::resource::Resource;
use crate::node::{Answer, Holding, Remaining, Value, Vote};

#[test]
fn a_look_replies_with_the_first_key_that_exists() {
    let call = peek(&Resource::all(["a", "b"]));
    let vote = |value| call.vote(Answer::Reply { value, epoch: 0 });
    let held = |value: &str, remaining| {
        let mut holding = Holding::by(value);
        (holding.place, holding.remaining) = (Some(1), remaining);
        Vote::Held(holding)
    };
    assert_eq!(vote(Value::Nil), Vote::Absent);
    let soon = Remaining::Expires(Duration::from_millis(7));
    let by_hand = vote(Value::text(*b"1 7 by hand"));
    assert_eq!(by_hand, held("by hand", soon));
    let without_expiry = vote(Value::text(*b"1 -1 "));
    assert_eq!(without_expiry, held("", Remaining::Never));
    let no_lock = Vote::Held(Holding::unknown(Remaining::NotALock));
    assert_eq!(vote(Value::error("WRONGTYPE Operation against")), no_lock);
    for nonsense in [Value::text(*b"soon"), Value::text(*b"1 x y"), Value::Int(1)] {
        assert!(matches!(vote(nonsense), Vote::Failed(_)));
    }
}
