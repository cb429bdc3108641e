//! Readers and writers, by the attribute and in the object style.

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::parameters::Kind;
use redlock_runtime::{LockError, current_lease, lock, redlock};

use crate::runtime::fixture::{SOON, registry, start};

fn token() -> String {
    current_lease().expect("a lease").token_id().to_owned()
}

#[redlock(resource = "report:{day}", kind = "read")]
async fn shows(day: u32) -> Result<String, LockError> {
    tokio::task::yield_now().await;
    Ok(token())
}

#[redlock(resource = "report:{day}", kind = "write")]
async fn rewrites(day: u32) -> Result<String, LockError> {
    Ok(token())
}

#[redlock(resource = "report:{day}")]
async fn has_it_alone(day: u32) -> Result<String, LockError> {
    Ok(token())
}

#[redlock(resource = "report:{day}", kind = "read", guard = lease)]
async fn reads_above(day: u32) -> Result<[LockError; 2], LockError> {
    assert_eq!(lease.kind(), Kind::Read);
    assert_eq!(shows(day).await?, token());
    Ok([
        rewrites(day).await.unwrap_err(),
        has_it_alone(day).await.unwrap_err(),
    ])
}

#[tokio::test]
async fn a_call_below_a_reader_that_wants_more_is_told_the_fix() {
    let (nodes, redlock) = start(3).await;
    let refused = registry(&redlock).scope(reads_above(7)).await.unwrap();
    for (error, inner) in refused.iter().zip(["rewrites", "has_it_alone"]) {
        let LockErrorKind::Invalid(invalid) = error.kind() else {
            panic!("{error}");
        };
        let text = invalid.to_string();
        for part in [inner, "reads_above", "`kind = \"write\"`"] {
            assert!(text.contains(part), "{text}");
        }
    }
    nodes.assert_no_lock_keys(SOON).await;
}

/// The error of a refused call is one sentence about the resource, also if the lock has no holder.
#[tokio::test]
async fn a_call_that_only_has_to_let_others_go_first_is_told_whom() {
    let (nodes, redlock) = start(3).await;
    let expected = [
        (
            &["SET", "redlock:intent:{r}", "web-7/3121/1"][..],
            Kind::Read,
            "`r` is left to a writer of another client, which waits for it; gave up after 1 attempt",
        ),
        (
            &["ZADD", "redlock:turn:{r}", "8e15", "web-1", "8e15", "due"],
            Kind::Write,
            "`r` is left to readers that a writer kept out; gave up after 1 attempt",
        ),
    ];
    for (command, kind, expected) in expected {
        for node in &nodes {
            node.command(command);
        }
        let refused = registry(&redlock)
            .scope(lock("r").kind(kind).acquire())
            .await;
        let refused = refused.unwrap_err();
        assert!(refused.is_contended() && refused.http_status() == 423);
        assert!(refused.to_string().starts_with(expected), "{refused}");
        for node in &nodes {
            node.del(command[1]);
        }
    }
}
