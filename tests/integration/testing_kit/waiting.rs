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
async fn callers_are_seen_to_hold_and_to_wait() {
    let locks = TestLocks::new();
    let (end, ended) = oneshot::channel();
    let first = tokio::spawn(until_told(ended));
    locks.until_held("r").await;
    let (end_second, ended) = oneshot::channel();
    let second = tokio::spawn(until_told(ended));
    locks.until_waiting("r").await;
    end.send(()).unwrap();
    first.await.unwrap().unwrap();
    locks.until_held("r").await;
    end_second.send(()).unwrap();
    second.await.unwrap().unwrap();
    locks.until_released("r").await;
    locks.assert_all_free();
}

#[tokio::test]
async fn a_caller_that_goes_away_while_it_waits_is_seen_to() {
    let locks = TestLocks::new();
    let _hold = locks.hold("r");
    let call = tokio::spawn(until_told(oneshot::channel().1));
    locks.until_waiting("r").await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    let [call] = &locks.acquisitions()[..] else {
        panic!("{:?}", locks.acquisitions());
    };
    assert!(matches!(call.outcome, Outcome::Dropped), "{call}");
}

#[tokio::test]
async fn a_body_that_is_dropped_is_seen_to_be_cut_off_and_frees_the_lock() {
    let locks = TestLocks::new();
    let (_end, ended) = oneshot::channel();
    let call = tokio::spawn(until_told(ended));
    locks.until_held("r").await;
    call.abort();
    locks.until_released("r").await;
    locks.assert_all_free();
    assert!(matches!(locks.acquisitions()[0].outcome, Outcome::CutOff));
}

#[tokio::test]
async fn a_wait_that_is_dropped_has_no_effect() {
    let locks = TestLocks::new();
    let mut wait = Box::pin(locks.until_held("r"));
    std::future::poll_fn(|context| {
        assert!(wait.as_mut().poll(context).is_pending());
        std::task::Poll::Ready(())
    })
    .await;
    drop(wait);
    let (end, ended) = oneshot::channel();
    end.send(()).unwrap();
    until_told(ended).await.unwrap();
    locks.assert_locked("r");
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "`r` is not held, at ")]
async fn what_never_happens_is_waited_for_no_longer_than_a_test_can_bear() {
    TestLocks::new().until_held("r").await;
}

#[tokio::test(start_paused = true)]
#[should_panic(expected = "`r` is still held, at ")]
async fn what_is_never_released_is_waited_for_no_longer_either() {
    let locks = TestLocks::new();
    let lease = redlock_runtime::lock("r").acquire().await.unwrap();
    locks.until_released("r").await;
    drop(lease);
}
