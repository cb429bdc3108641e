//! A call below the holder of the same lock shares that holder's lease.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::lease::FencingToken;
use redlock_runtime::{LockError, Redlock, Resource, current_lease, lock, redlock};
use redlock_tests::eventually;

use crate::runtime::fixture::{SOON, config, registry, spawn_on, start, start_nodes};

fn token() -> String {
    current_lease().expect("a lease").token_id().to_owned()
}

#[redlock(resource = "order:{id}")]
async fn inner(id: u64) -> Result<String, LockError> {
    tokio::task::yield_now().await;
    Ok(token())
}

#[redlock(resource = "order:{id}")]
async fn outer(id: u64) -> Result<(), LockError> {
    let ours = token();
    assert_eq!(inner(id).await?, ours);
    // Still held, as we are not done.
    assert!(!current_lease().expect("a lease").validity().is_zero());
    let (one, other) = tokio::join!(inner(id), inner(id));
    assert_eq!((one?, other?), (ours.clone(), ours.clone()));
    // Another order is another lock.
    assert_ne!(inner(id + 1).await?, ours);
    // The object style is no other way to a lock.
    let lease = lock(format!("order:{id}")).acquire().await?;
    assert_eq!(lease.token_id(), ours);
    lease.release().await;
    assert_eq!(token(), ours);
    Ok(())
}

/// As deep as it is told, each level below the one before.
#[redlock(resource = "tree", guard = lease)]
async fn descends(levels: u32) -> Result<String, LockError> {
    let ours = lease.token_id().to_owned();
    if levels > 0 {
        assert_eq!(Box::pin(descends(levels - 1)).await?, ours);
    }
    Ok(ours)
}

#[tokio::test]
async fn a_call_below_the_holder_shares_its_lease() {
    let (nodes, redlock) = start(3).await;
    registry(&redlock).scope(outer(7)).await.unwrap();
    nodes.assert_no_lock_keys(SOON).await;
    registry(&redlock).scope(descends(20)).await.unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}

#[redlock(resource = "r")]
async fn unfenced() -> Result<(), LockError> {
    fenced().await.map(|_| ())
}

#[redlock(resource = "r", fencing = true, guard = lease)]
async fn fenced() -> Result<FencingToken, LockError> {
    // A fenced lease also serves a call that does not ask for a fencing token.
    plain().await?;
    Ok(lease.fencing_token())
}

#[redlock(resource = "r")]
async fn plain() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "r", fencing = true, guard = lease)]
async fn fenced_twice() -> Result<(), LockError> {
    assert_eq!(fenced().await?, lease.fencing_token());
    let below = lock("r").fencing().acquire().await?;
    assert_eq!(below.fencing_token(), lease.fencing_token());
    Ok(())
}

#[tokio::test]
async fn a_fencing_token_that_the_holder_lacks_is_refused() {
    let (nodes, redlock) = start(3).await;
    let refused = registry(&redlock).scope(unfenced()).await.unwrap_err();
    let text = refused.to_string();
    assert!(refused.is_invalid(), "{text}");
    for name in ["::fenced`", "::unfenced`", "fencing = true"] {
        assert!(text.contains(name), "{text}");
    }
    assert_eq!(refused.site().name(), concat!(module_path!(), "::fenced"),);
    registry(&redlock).scope(fenced_twice()).await.unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}

/// Locks `r` on `outer`, and below that on `inner`.
async fn on(
    redlock: &Redlock,
    outer: &'static [&'static str],
    inner: &'static [&'static str],
) -> Result<bool, LockError> {
    let below = async move {
        let above = current_lease().expect("it runs under its lock");
        let below = lock("r").pools(inner.iter().copied()).acquire().await?;
        Ok(below.token_id() == above.token_id())
    };
    let locked = lock("r").pools(outer.iter().copied()).run(below);
    registry(redlock).scope(locked).await?
}

#[tokio::test]
async fn pools_that_share_nodes_with_the_holders_are_refused() {
    let (nodes, redlock) = start(5).await;
    let shared = on(&redlock, &["a", "b", "c"], &["c", "b", "a"]).await;
    assert!(shared.unwrap(), "the same pools in another order");
    for free in [&["d", "e"][..], &["d"]] {
        let shared = on(&redlock, &["a", "b", "c"], free).await;
        assert!(!shared.unwrap(), "{free:?} are other nodes");
        nodes.assert_no_lock_keys(SOON).await;
    }
    for taken in [
        &["a"][..],
        &["a", "b"],
        &["a", "b", "d"],
        &["a", "d", "e"],
        &["a", "b", "c", "d", "e"],
    ] {
        let refused = on(&redlock, &["a", "b", "c"], taken).await.unwrap_err();
        let text = refused.to_string();
        assert!(refused.is_invalid(), "{text}");
        assert!(
            text.contains("`a`, `b`, `c`") && text.contains("/reentrancy.rs:"),
            "{text}"
        );
    }
    nodes.assert_no_lock_keys(SOON).await;
}

#[redlock(resource = "r")]
async fn is_frozen_with_a_lease_of_its_own(
    begun: tokio::sync::oneshot::Sender<()>,
) -> Result<(), LockError> {
    let _below = lock("r").acquire().await?;
    begun.send(()).unwrap();
    std::future::pending().await
}

#[tokio::test]
async fn a_shutdown_ends_the_body_before_what_shares_its_lock() {
    let nodes = start_nodes(3).await;
    let config = config(&nodes).shutdown_grace(Duration::ZERO);
    let redlock = Redlock::start(config).await.unwrap();
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let call = spawn_on(&redlock, is_frozen_with_a_lease_of_its_own(begun));
    has_begun.await.unwrap();
    assert_eq!(registry(&redlock).held().len(), 2);
    let report = redlock.shutdown().await;
    let error = call.await.unwrap().unwrap_err();
    assert!(matches!(error.kind(), LockErrorKind::Lost(_)), "{error}");
    assert_eq!(report.cancelled.len(), 1, "{report}");
    assert!(report.stuck.is_empty(), "{report}");
    nodes.assert_no_lock_keys(SOON).await;
}

#[redlock(resource = "r", ttl = 1500, retry_count = 20, on_lost = "continue", guard = lease)]
async fn goes_on_without_its_lock() -> Result<(), LockError> {
    lease.lost().await;
    assert!(!redlock_runtime::is_held("r"));
    // The keys go soon after the lease: it keeps a margin for drift.
    eventually("the lock again", SOON, async || {
        // Nor is it in the way of what it would have been a part of.
        for resource in [Resource::from("r"), Resource::all(["r", "s"])] {
            let again = lock(resource).acquire().await;
            let again = again.map_err(|error| error.to_string())?;
            assert_ne!(again.token_id(), lease.token_id());
            again.release().await;
        }
        Ok(())
    })
    .await;
    Ok(())
}

#[tokio::test]
async fn a_lease_that_is_over_is_shared_by_nobody() {
    let (nodes, redlock) = start(3).await;
    registry(&redlock)
        .scope(goes_on_without_its_lock())
        .await
        .unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}
