//! What is on the nodes while an annotated body runs, and after each way out of it.

use std::time::Duration;

use redlock_runtime::{Lease, LockError, redlock};

use crate::runtime::fixture::{
    SOON, Stage, registry, spawn_on, stage, start, until_held_everywhere, until_served,
};

#[derive(Debug)]
enum AppError {
    Lock(LockError),
    Declined,
}

impl From<LockError> for AppError {
    fn from(error: LockError) -> Self {
        Self::Lock(error)
    }
}

#[redlock(resource = "order:{order_id}", ttl = 20_000)]
async fn charge(order_id: u64, mut stage: Stage) -> Result<u64, AppError> {
    stage.play().await;
    Ok(order_id * 2)
}

#[redlock(resource = "order:{order_id}")]
async fn decline(order_id: u64) -> Result<u64, AppError> {
    Err(AppError::Declined)?;
    Ok(order_id)
}

#[redlock(resource = "order:{order_id}")]
async fn panics(order_id: u64) -> Result<u64, AppError> {
    assert_eq!(order_id, 0, "the body's own panic");
    Ok(order_id)
}

#[redlock(resource = "guarded", guard = lease)]
async fn guarded() -> Result<(String, Duration), LockError> {
    let lease: &Lease = lease;
    Ok((lease.resource().to_string(), lease.validity()))
}

#[tokio::test]
async fn the_body_runs_under_the_resource_verbatim_and_leaves_no_key() {
    let (nodes, redlock) = start(3).await;
    let (stage, director) = stage();
    let call = spawn_on(&redlock, charge(42, stage));
    director.begun.await.unwrap();
    until_held_everywhere(&nodes, "order:42").await;
    assert_eq!(nodes.lock_keys(), [b"order:42"]);
    let tokens = nodes.values_of("order:42");
    assert!(tokens.iter().all(|token| *token == tokens[0]));
    for node in &nodes {
        assert!(node.pttl("order:42").left().unwrap() <= Duration::from_secs(20));
    }
    let held = redlock.registry().held();
    assert_eq!(held.len(), 1);
    assert_eq!(held[0].resource.to_string(), "order:42");
    assert!(held[0].site.site_name().ends_with("attribute::charge"));

    director.end.send(()).unwrap();
    assert_eq!(call.await.unwrap().unwrap(), 84);
    nodes.assert_no_lock_keys(SOON).await;
    assert!(redlock.registry().held().is_empty());
}

#[tokio::test]
async fn a_second_caller_is_refused_and_another_resource_is_not() {
    let (nodes, redlock) = start(3).await;
    let (first, director) = stage();
    let call = spawn_on(&redlock, charge(1, first));
    director.begun.await.unwrap();

    let refused = registry(&redlock)
        .scope(charge(1, stage().0))
        .await
        .unwrap_err();
    let AppError::Lock(error) = refused else {
        panic!("{refused:?}")
    };
    assert!(error.is_contended(), "{error}");
    assert!(
        error.to_string().starts_with("`order:1` is held by "),
        "{error}"
    );

    let (second, other) = stage();
    drop(other);
    assert_eq!(
        registry(&redlock).scope(charge(2, second)).await.unwrap(),
        4
    );
    director.end.send(()).unwrap();
    call.await.unwrap().unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn the_bodys_own_error_is_returned_as_it_is_and_no_key_is_left() {
    let (nodes, redlock) = start(3).await;
    let error = registry(&redlock).scope(decline(1)).await.unwrap_err();
    assert!(matches!(error, AppError::Declined), "{error:?}");
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_panic_goes_on_and_no_key_is_left() {
    let (nodes, redlock) = start(3).await;
    let panic = spawn_on(&redlock, panics(7)).await.unwrap_err();
    assert!(panic.is_panic());
    nodes.assert_no_lock_keys(SOON).await;
    assert!(redlock.registry().held().is_empty());
}

#[tokio::test]
async fn a_dropped_call_leaves_no_key() {
    let (nodes, redlock) = start(3).await;
    let (stage, director) = stage();
    let call = spawn_on(&redlock, charge(3, stage));
    director.begun.await.unwrap();
    until_held_everywhere(&nodes, "order:3").await;
    call.abort();
    assert!(call.await.unwrap_err().is_cancelled());
    nodes.assert_no_lock_keys(SOON).await;
    assert!(redlock.registry().held().is_empty());
}

#[tokio::test]
async fn a_failed_acquisition_leaves_no_key() {
    let (nodes, redlock) = start(3).await;
    for node in nodes.iter().take(2) {
        node.set("order:4", "someone", Some(Duration::from_secs(60)));
    }
    registry(&redlock)
        .scope(charge(4, stage().0))
        .await
        .unwrap_err();
    // Nobody waits for the vote of the third node, nor for its end.
    until_served(&nodes, &redlock).await;
    assert_eq!(nodes[2].get("order:4"), None);
}

#[tokio::test]
async fn a_dead_minority_changes_nothing_and_a_dead_majority_is_unavailable() {
    let (nodes, redlock) = start(5).await;
    for victim in 0..2 {
        nodes[victim].kill();
        let (stage, director) = stage();
        drop(director);
        registry(&redlock).scope(charge(5, stage)).await.unwrap();
    }
    nodes[2].kill();
    let error = registry(&redlock)
        .scope(charge(5, stage().0))
        .await
        .unwrap_err();
    let AppError::Lock(error) = error else {
        panic!("{error:?}")
    };
    assert!(error.is_unavailable() && !error.is_contended(), "{error}");
    let text = error.to_string();
    assert!(
        text.starts_with("`order:5` could not be locked: 2 of 5 nodes voted, 3 needed"),
        "{text}"
    );
    for name in ["; a: ", "; b: ", "; c: "] {
        assert!(text.contains(name), "{text}");
    }
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_hung_node_costs_nobody_a_timeout_and_its_late_votes_are_undone() {
    let (nodes, redlock) = start(5).await;
    nodes[0].freeze();
    for order in 0..50 {
        let (stage, director) = stage();
        drop(director);
        registry(&redlock)
            .scope(charge(order, stage))
            .await
            .unwrap();
    }
    nodes[0].thaw();
    // Without this, the node would have no keys because it has not served anything yet.
    until_served(&nodes, &redlock).await;
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn the_guard_is_the_lease() {
    let (_nodes, redlock) = start(1).await;
    let (resource, validity) = registry(&redlock).scope(guarded()).await.unwrap();
    assert_eq!(resource, "guarded");
    assert!(validity > Duration::from_secs(30) && validity < Duration::from_secs(60));
}

#[tokio::test]
async fn a_key_prefix_comes_before_the_resource() {
    let nodes = redlock_tests::Nodes::start(1).await;
    let config = crate::runtime::fixture::config(&nodes).key_prefix("shop:");
    let redlock = redlock_runtime::Redlock::start(config).await.unwrap();
    let (stage, director) = stage();
    let call = spawn_on(&redlock, charge(6, stage));
    director.begun.await.unwrap();
    assert_eq!(nodes[0].keys(), [b"shop:order:6"]);
    drop(director.end);
    call.await.unwrap().unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}

#[redlock(resource = "step:{id}")]
async fn steps(id: u64) -> Result<u64, LockError> {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    Ok(id)
}

#[tokio::test]
async fn a_call_dropped_at_any_await_leaves_no_key() {
    let (nodes, redlock) = start(3).await;
    let mut completed = 0;
    for polls in 0..20 {
        let call = registry(&redlock).scope(steps(8));
        if let Some(done) = redlock_tests::drop_after(polls, call).await {
            assert_eq!(done.unwrap(), 8);
            completed += 1;
        }
        nodes.assert_no_lock_keys(SOON).await;
        assert!(redlock.registry().held().is_empty());
    }
    assert!(completed > 0, "the later awaits were never reached");
}
