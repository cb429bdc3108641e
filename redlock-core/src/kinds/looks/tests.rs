//! The questions about locks, and what the replies mean.

use std::time::Duration;

use super::{force_release, inspect, peek};
use crate::kinds::golden::{Golden, on_keys, other, token};
use crate::model::resource::Resource;
use crate::node::{Answer, Call, Holding, Remaining, Value, Vote};

pub(crate) fn golden() -> Vec<Golden> {
    let holders = [token(), other()].map(|it| it.as_bytes().into());
    let calls = on_keys(["r", "a b"]).into_iter().flat_map(|(names, keys)| {
        let forced =
            format!("look force-release, keys {names}, holders the token and the other token");
        [
            Golden::new(format!("look inspect, keys {names}"), inspect(&keys)),
            Golden::new(format!("look peek, keys {names}"), peek(&keys)),
            Golden::new(forced, force_release(&keys, &holders)),
        ]
    });
    calls.collect()
}

fn vote(call: &Call, value: Value) -> Vote {
    call.vote(Answer::Reply { value, epoch: 0 })
}

#[test]
fn a_look_replies_with_the_first_key_that_exists() {
    let keys = Resource::all(["a", "b"]);
    let held = |value: &str, remaining| {
        let mut holding = Holding::by(value);
        (holding.place, holding.remaining) = (Some(1), remaining);
        Vote::Held(holding)
    };
    for call in [peek(&keys), inspect(&keys)] {
        assert_eq!(vote(&call, Value::Nil), Vote::Absent);
        let soon = Remaining::Expires(Duration::from_millis(7));
        let by_hand = vote(&call, Value::text(*b"1 7 by hand"));
        assert_eq!(by_hand, held("by hand", soon));
        let without_expiry = vote(&call, Value::text(*b"1 -1 "));
        assert_eq!(without_expiry, held("", Remaining::Never));
        let no_lock = Vote::Held(Holding::unknown(Remaining::NotALock));
        let no_string = Value::error("WRONGTYPE Operation against");
        assert_eq!(vote(&call, no_string), no_lock);
        for nonsense in [Value::text(*b"soon"), Value::text(*b"1 x y"), Value::Int(1)] {
            assert!(matches!(vote(&call, nonsense), Vote::Failed(_)));
        }
    }
}

#[test]
fn of_one_key_the_time_is_asked_for() {
    let call = inspect(&"r".into());
    assert_eq!(vote(&call, Value::Int(-2)), Vote::Absent);
    let never = Vote::Held(Holding::unknown(Remaining::Never));
    assert_eq!(vote(&call, Value::Int(-1)), never);
    let soon = Remaining::Expires(Duration::from_millis(1500));
    let soon = Vote::Held(Holding::unknown(soon));
    assert_eq!(vote(&call, Value::Int(1500)), soon);
}
