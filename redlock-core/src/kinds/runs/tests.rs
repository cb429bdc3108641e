//! The calls about runs, and what the replies mean.

use std::time::Duration;

use super::{recall, remember, run_keys};
use crate::kinds::golden::{Golden, TTL, on_keys, token};
use crate::node::{Answer, Holding, Remaining, Value, Vote};

pub(crate) fn golden() -> Vec<Golden> {
    let began = 1_795_316_400_012;
    let calls = on_keys(["r", "a b"]).into_iter().flat_map(|(names, keys)| {
        let keys = run_keys(&keys, b"");
        let remember = remember(&keys, &token(), began, (TTL, TTL * 2));
        let name =
            format!("run remember, resources {names}, began {began}, ttl 30 s, longest 60 s");
        let remember = Golden::new(name, remember);
        let recall = Golden::new(format!("run recall, resources {names}"), recall(&keys));
        [remember, recall]
    });
    calls.collect()
}

#[test]
fn a_recall_replies_with_the_record_and_its_time() {
    let call = recall(&"r".into());
    let vote = |value| call.vote(Answer::Reply { value, epoch: 0 });
    assert_eq!(vote(Value::Nil), Vote::Absent);
    let record = "web-7/3121 2026-11-22T03:00:00.012Z";
    let mut holding = Holding::by(record);
    holding.remaining = Remaining::Expires(Duration::from_secs(3240));
    let text = format!("3240000 {record}").into_bytes();
    assert_eq!(vote(Value::text(text)), Vote::Held(holding));
    for nonsense in [Value::text(*b"soon"), Value::text(*b"x y"), Value::Int(1)] {
        assert!(matches!(vote(nonsense), Vote::Failed(_)));
    }
}
