//! Tests of how replies to calls of plain locks become votes.

use crate::kinds::plain;
use crate::kinds::tests::{TTL, token};
use crate::model::resource::Resource;
use crate::node::{Answer, Holding, NodeErrorKind, Remaining, Value, Vote};

#[test]
fn what_a_script_that_acquires_replies() {
    let call = plain(&Resource::all(["a", "b"])).acquire_call(&token(), TTL, 0);
    let vote = |value| call.vote(Answer::Reply { value, epoch: 3 });
    let granted = |counter| Vote::Granted {
        counter,
        epoch: 3,
        choice: None,
    };
    assert_eq!(vote(Value::Int(1)), granted(None));
    assert_eq!(vote(Value::Int(9)), granted(Some(9)));
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
