//! Tests of how replies to calls of plain locks become votes.

use crate::kinds::tests::{TTL, token};
use crate::kinds::{Kind, ProtocolArgs, plain};
use crate::model::resource::Resource;
use crate::node::{Answer, Call, Holding, NodeErrorKind, Remaining, Value, Vote};

#[test]
fn what_a_script_that_acquires_replies() {
    let call = plain(&Resource::all(["a", "b"])).acquire_call(&token(), TTL, 0);
    let vote = |value| call.vote(Answer::Reply { value, epoch: 3 });
    let granted = Vote::Granted {
        counter: None,
        epoch: 3,
        choice: None,
    };
    assert_eq!(vote(Value::Int(1)), granted);
    assert!(matches!(vote(Value::Int(9)), Vote::Failed(_)));
    let held = Vote::Held(Holding::by("web/1/2"));
    assert_eq!(vote(Value::text(*b"web/1/2")), held);
    let no_lock = Vote::Held(Holding::unknown(Remaining::NotALock));
    assert_eq!(vote(Value::Int(0)), no_lock);
    // Each attempt draws a new token, so another holder cannot have it.
    let own = vote(Value::text(token().as_bytes()));
    assert!(matches!(own, Vote::Failed(error) if error.kind() == NodeErrorKind::Refused));
    // Only the command `SET` replies with nil.
    assert!(matches!(vote(Value::Nil), Vote::Failed(_)));
}

/// Returns the acquisition of a fenced lock, with 20 as its hint.
fn fenced(kind: Kind) -> Call {
    let args = ProtocolArgs {
        keys: &"r".into(),
        prefix: b"",
        is_fenced: true,
        advice: None,
    };
    kind.protocol(&args).acquire_call(&token(), TTL, 20)
}

#[test]
fn a_fenced_grant_names_the_numbers_that_the_lease_may_use() {
    let counter = |call: &Call, value| match call.vote(Answer::Reply { value, epoch: 3 }) {
        Vote::Granted { counter, .. } => counter.map(|it| (it.first, it.count)),
        _ => None,
    };
    let plain = fenced(Kind::Plain);
    let list = |numbers: &[i64]| Value::List(numbers.iter().copied().map(Value::Int).collect());
    assert_eq!(counter(&plain, list(&[9, 0])), Some((1, 9)));
    assert_eq!(counter(&plain, list(&[9, 7])), Some((8, 9)));
    // One number is that before the grant, and the hint is the number since.
    assert_eq!(counter(&plain, Value::Int(18)), Some((19, 20)));
    assert_eq!(counter(&fenced(Kind::Write), Value::Int(9)), Some((8, 9)));
    assert_eq!(counter(&fenced(Kind::Read), Value::Int(9)), Some((9, 9)));
    let invalid = [&[9, 8][..], &[9, 9], &[9, -1], &[-9, 3], &[9], &[9, 7, 5]].map(list);
    for value in invalid.into_iter().chain([1, 19, 20, -2].map(Value::Int)) {
        let vote = plain.vote(Answer::Reply { value, epoch: 3 });
        assert!(matches!(vote, Vote::Failed(_)), "{vote:?}");
    }
}
