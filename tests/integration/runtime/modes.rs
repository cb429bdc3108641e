//! Readers and writers, by the attribute and in the object style.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::parameters::Mode;
use redlock_runtime::{Lease, LockError, current, lock, redlock};

use crate::runtime::fixture::{SOON, registry, start};

fn token() -> String {
    current().expect("a lease").token_id().to_owned()
}

#[redlock(resource = "report:{day}", mode = "read")]
async fn shows(day: u32) -> Result<String, LockError> {
    tokio::task::yield_now().await;
    Ok(token())
}

#[redlock(resource = "report:{day}", mode = "write")]
async fn rewrites(day: u32) -> Result<String, LockError> {
    Ok(token())
}

#[redlock(resource = "report:{day}")]
async fn has_it_alone(day: u32) -> Result<String, LockError> {
    Ok(token())
}

#[redlock(resource = "report:{day}", mode = "read", guard = lease)]
async fn reads_above(day: u32) -> Result<[LockError; 2], LockError> {
    assert_eq!(lease.mode(), Some(Mode::Read));
    assert_eq!(shows(day).await?, token());
    Ok([
        rewrites(day).await.unwrap_err(),
        has_it_alone(day).await.unwrap_err(),
    ])
}

#[redlock(resource = "report:{day}", mode = "write", guard = lease)]
async fn writes_above(day: u32) -> Result<(), LockError> {
    assert_eq!(lease.mode(), Some(Mode::Write));
    let before = lease.validity();
    assert_eq!(rewrites(day).await?, token());
    assert!(lease.validity() <= before, "a call below adds no ttl");
    Ok(())
}

#[redlock(resource = "report:{day}", mode = "write")]
async fn reads_below(day: u32) -> Result<(), LockError> {
    for served in [
        shows(day).await?,
        rewrites(day).await?,
        has_it_alone(day).await?,
    ] {
        assert_eq!(served, token());
    }
    let refused = outside(day, Mode::Read).await.unwrap_err();
    assert!(refused.is_contended(), "still alone: {refused}");
    Ok(())
}

/// A call of this process without a holder above it.
async fn outside(day: u32, mode: Mode) -> Result<Lease, LockError> {
    let registry = REGISTRY.with(Clone::clone);
    let lock = lock(format!("report:{day}")).mode(mode);
    tokio::spawn(registry.scope(async move { lock.acquire().await }))
        .await
        .expect("no panic")
}

tokio::task_local! {
    static REGISTRY: redlock_runtime::registry::Registry;
}

async fn scoped<F: Future>(redlock: &redlock_runtime::Redlock, work: F) -> F::Output {
    let registry = registry(redlock);
    REGISTRY.scope(registry.clone(), registry.scope(work)).await
}

fn reason(error: &LockError) -> String {
    match error.kind() {
        LockErrorKind::Invalid(invalid) => invalid.to_string(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_call_below_a_reader_that_wants_to_be_alone_is_refused_at_once_with_the_fix() {
    for n in [1, 3] {
        let (nodes, redlock) = start(n).await;
        let refused = scoped(&redlock, reads_above(7)).await.unwrap();
        for (error, inner) in refused.iter().zip(["rewrites", "has_it_alone"]) {
            let text = reason(error);
            assert!(
                text.contains(inner) && text.contains("reads_above"),
                "{text}"
            );
            assert!(text.contains("`mode = \"write\"`"), "{text}");
        }
        nodes.assert_no_lock_keys(SOON).await;
    }
}

#[tokio::test]
async fn a_write_below_a_write_does_not_add_the_ttl() {
    let (nodes, redlock) = start(3).await;
    scoped(&redlock, writes_above(7)).await.unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn the_end_of_a_read_below_a_write_does_not_end_the_write() {
    let (nodes, redlock) = start(3).await;
    scoped(&redlock, reads_below(7)).await.unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}

/// The error of a refused call is one sentence about the resource, also if the lock has no holder.
#[tokio::test]
async fn a_call_that_only_has_to_let_others_go_first_is_told_whom() {
    let (nodes, redlock) = start(3).await;
    let expected = [
        (
            &["SET", "redlock:intent:{r}", "web-7/3121/1"][..],
            Mode::Read,
            "`r` is left to a writer of another client, which waits for it; gave up after 1 attempt",
        ),
        (
            &["ZADD", "redlock:turn:{r}", "8e15", "web-1", "8e15", "due"],
            Mode::Write,
            "`r` is left to readers that a writer kept out; gave up after 1 attempt",
        ),
    ];
    for (command, mode, expected) in expected {
        for node in &nodes {
            node.command(command);
        }
        let refused = scoped(&redlock, lock("r").mode(mode).acquire()).await;
        let refused = refused.unwrap_err();
        assert!(refused.is_contended() && refused.http_status() == 423);
        assert!(refused.to_string().starts_with(expected), "{refused}");
        for node in &nodes {
            node.del(command[1]);
        }
    }
}

#[tokio::test]
async fn what_readers_and_writers_cannot_have_is_refused_before_anything_is_sent() {
    let (nodes, redlock) = start(1).await;
    scoped(&redlock, async {
        let several = lock(["a", "b"]).mode(Mode::Write).acquire().await;
        let text = reason(&several.unwrap_err());
        assert!(
            text.contains("several names") && text.contains("`mode`"),
            "{text}"
        );
        let job = lock("a")
            .mode(Mode::Read)
            .once_per(Duration::from_secs(3600));
        let text = reason(&job.acquire().await.unwrap_err());
        assert!(text.contains("`once_per`"), "{text}");
    })
    .await;
    nodes.assert_no_keys(SOON).await;
}
