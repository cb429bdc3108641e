//! What becomes of the lock when its body is cut off in the middle.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::parameters::OnCancel;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, lock, redlock};
use redlock_tests::{Nodes, eventually};
use tokio::sync::oneshot;

use crate::runtime::fixture::{
    SOON, registry, spawn_on, stage, start, start_nodes, until_held_everywhere, until_served,
};

#[redlock(resource = "r", on_cancel = "expire")]
async fn expires(mut stage: crate::runtime::fixture::Stage) -> Result<&'static str, LockError> {
    stage.play().await;
    Ok("done")
}

#[redlock(resource = "r", on_cancel = "release")]
async fn releases(mut stage: crate::runtime::fixture::Stage) -> Result<&'static str, LockError> {
    stage.play().await;
    Ok("done")
}

#[redlock(resource = "r", on_cancel = "expire")]
async fn panics(begun: oneshot::Sender<()>) -> Result<(), LockError> {
    let _ = begun.send(());
    panic!("the body's own")
}

/// The ttl is short, so each attempt has little time.
#[redlock(resource = "r", ttl = 1500, retry_count = 20, on_cancel = "expire", guard = lease)]
async fn outlives_its_ttl() -> Result<(), LockError> {
    assert_eq!(lease.resource(), &"r".into());
    std::future::pending::<()>().await;
    Ok(())
}

/// The key is still there once everything that was sent has been served.
async fn assert_kept(redlock: &redlock_runtime::Redlock, nodes: &Nodes) {
    until_served(nodes, redlock).await;
    for node in nodes {
        let left = node.pttl("r").left().expect("the key, with its expiry");
        assert!(left <= Duration::from_secs(60));
    }
    assert!(registry(redlock).held().is_empty(), "nobody holds it");
}

#[tokio::test]
async fn a_dropped_body_leaves_its_lock_to_the_ttl_where_that_is_asked_for() {
    let (nodes, redlock) = start(3).await;
    let (stage, director) = stage();
    let call = spawn_on(&redlock, expires(stage));
    director.begun.await.unwrap();
    until_held_everywhere(&nodes, "r").await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    assert_kept(&redlock, &nodes).await;
}

#[tokio::test]
async fn a_dropped_body_is_released_otherwise() {
    let (nodes, redlock) = start(3).await;
    let (stage, director) = stage();
    let call = spawn_on(&redlock, releases(stage));
    director.begun.await.unwrap();
    call.abort();
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_body_that_returns_is_released_either_way() {
    let (nodes, redlock) = start(3).await;
    let (stage, director) = stage();
    let call = spawn_on(&redlock, expires(stage));
    director.begun.await.unwrap();
    director.end.send(()).unwrap();
    assert_eq!(call.await.unwrap().unwrap(), "done");
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_panicking_body_leaves_its_lock_to_the_ttl_where_that_is_asked_for() {
    let (nodes, redlock) = start(3).await;
    let (begun, has_begun) = oneshot::channel();
    let call = spawn_on(&redlock, panics(begun));
    has_begun.await.unwrap();
    assert!(call.await.unwrap_err().is_panic());
    until_held_everywhere(&nodes, "r").await;
    assert_kept(&redlock, &nodes).await;
}

#[tokio::test]
async fn a_lost_lease_under_such_a_body_sends_no_release() {
    let (nodes, redlock) = start(3).await;
    let call = registry(&redlock).scope(outlives_its_ttl());
    let error = call.await.unwrap_err();
    let is_expired = matches!(error.kind(), LockErrorKind::Lost(LeaseEnd::Expired));
    assert!(is_expired, "{error}");
    // Its validity ended a little before the keys do, which go by themselves.
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn the_object_style_does_the_same() {
    let (nodes, redlock) = start(3).await;
    let (mut stage, director) = stage();
    let call = spawn_on(&redlock, async move {
        let lock = lock("r").on_cancel(OnCancel::Expire);
        lock.run(stage.play()).await
    });
    director.begun.await.unwrap();
    until_held_everywhere(&nodes, "r").await;
    call.abort();
    let _ = call.await;
    assert_kept(&redlock, &nodes).await;
}

#[tokio::test]
async fn a_bare_lease_that_is_dropped_is_released() {
    let (nodes, redlock) = start(3).await;
    let acquiring = lock("r").on_cancel(OnCancel::Expire).acquire();
    let lease = registry(&redlock).scope(acquiring).await.unwrap();
    drop(lease);
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_body_that_shutdown_cancels_keeps_its_lock_where_that_is_asked_for() {
    let nodes = start_nodes(3).await;
    let config = crate::runtime::fixture::config(&nodes)
        .shutdown_grace(Duration::ZERO)
        .shutdown_deadline(SOON);
    let redlock = redlock_runtime::Redlock::start(config).await.unwrap();
    let (stage, director) = stage();
    let call = spawn_on(&redlock, expires(stage));
    director.begun.await.unwrap();
    until_held_everywhere(&nodes, "r").await;
    let report = redlock.shutdown().await;
    assert_eq!((report.cancelled.len(), report.kept), (1, 1), "{report}");
    let expected = "0 cancelled and released, 0 stuck; 1 cancelled, their keys kept until the ttl";
    assert!(report.to_string().contains(expected), "{report}");
    assert!(call.await.unwrap().is_err());
    eventually("the keys to stay", SOON, || async {
        let values = nodes.values_of("r");
        let kept = values.iter().filter(|value| value.is_some()).count();
        (kept == 3).then_some(()).ok_or(format!("{kept} of 3"))
    })
    .await;
}

#[tokio::test]
async fn a_body_that_never_began_leaves_nothing_behind() {
    let locks = TestLocks::new();
    let lease = lock("r").on_cancel(OnCancel::Expire).acquire();
    let lease = lease.await.unwrap();
    for pool in ["a", "b"] {
        locks.node(pool).begin_epoch();
    }
    let error = lease.run(async |_lease| panic!("begun")).await.unwrap_err();
    let is_lost = matches!(error.kind(), LockErrorKind::Lost(LeaseEnd::Forgotten));
    assert!(is_lost, "{error}");
    locks.assert_all_free();
}
