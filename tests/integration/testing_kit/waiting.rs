//! Waiting for what other tasks do.

use redlock_runtime::testing::{Outcome, TestLocks};
use redlock_runtime::{LockError, redlock};
use tokio::sync::oneshot;

#[redlock(resource = "r", wait = "forever")]
async fn until_told(end: oneshot::Receiver<()>) -> Result<(), LockError> {
    end.await.expect("the test tells it");
    Ok(())
}

#[tokio::test]
async fn callers_are_seen_to_hold_to_wait_and_to_go_away() {
    let locks = TestLocks::new();
    let (end, ended) = oneshot::channel();
    let first = tokio::spawn(until_told(ended));
    locks.until_held("r").await;
    let waiting = tokio::spawn(until_told(oneshot::channel().1));
    let (_end, ended) = oneshot::channel();
    let cut_off = tokio::spawn(until_told(ended));
    locks.until_waiting("r").await;
    waiting.abort();
    assert!(waiting.await.unwrap_err().is_cancelled());
    end.send(()).unwrap();
    first.await.unwrap().unwrap();
    locks.until_held("r").await;
    cut_off.abort();
    locks.until_released("r").await;
    locks.assert_all_free();
    let outcomes = locks.acquisitions().into_iter().map(|it| it.outcome);
    let outcomes: Vec<_> = outcomes.collect();
    assert!(
        matches!(
            outcomes[..],
            [Outcome::Released, Outcome::Dropped, Outcome::CutOff]
        ),
        "{outcomes:?}"
    );
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "`r` is not held, at tests/integration/testing_kit/waiting.rs:")]
async fn a_wait_for_what_never_happens_ends() {
    TestLocks::new().until_held("r").await;
}
