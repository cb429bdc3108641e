//! What is on the nodes while an annotated body runs, and after each way out of it.

use std::time::Duration;

use redlock_runtime::{LockError, redlock};

use crate::runtime::fixture::{
    SOON, Stage, registry, spawn_on, stage, start, until_held_everywhere,
};

#[redlock(resource = "order:{order_id}", ttl = 20_000)]
async fn charge(order_id: u64, mut stage: Stage) -> Result<u64, LockError> {
    stage.play().await;
    Ok(order_id * 2)
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
    assert!(held[0].site.name().ends_with("attribute::charge"));

    director.end.send(()).unwrap();
    assert_eq!(call.await.unwrap().unwrap(), 84);
    nodes.assert_no_lock_keys(SOON).await;
    assert!(redlock.registry().held().is_empty());
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
