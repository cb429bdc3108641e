//! Nodes that misbehave on demand.

use redlock_runtime::health::NodeStatus;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, lock, redlock};

#[redlock(resource = "order:{id}", retry_count = 0)]
async fn charge(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[tokio::test]
async fn a_dead_minority_changes_nothing_and_a_dead_majority_is_told_apart() {
    let locks = TestLocks::new();
    locks.node("a").cut();
    charge(1).await.unwrap();
    locks.node("b").cut();
    let error = charge(1).await.unwrap_err();
    assert!(
        error.is_unavailable() && error.to_string().contains("cut off"),
        "{error}"
    );
    locks.restore_all();
    charge(1).await.unwrap();
    locks.cut_all();
    assert!(charge(1).await.unwrap_err().is_unavailable());
    locks.assert_all_free();
}

#[tokio::test(start_paused = true)]
async fn nodes_that_hang_cost_the_node_timeout_and_leave_nothing_behind() {
    let locks = TestLocks::new();
    let began = tokio::time::Instant::now();
    locks.node("a").hang();
    charge(1).await.unwrap();
    assert!(began.elapsed().is_zero(), "a minority costs nothing");
    locks.node("b").hang();
    let error = charge(1).await.unwrap_err();
    assert!(
        error.is_unavailable() && error.to_string().contains("no answer"),
        "{error}"
    );
    assert!(!began.elapsed().is_zero());
    locks.restore_all();
    locks.assert_all_free();
    charge(1).await.unwrap();
}

#[tokio::test]
async fn the_health_of_nodes_is_what_is_wrong_with_them() {
    let locks = TestLocks::new();
    locks.node("a").hang();
    locks
        .node("b")
        .fail("LOADING Redis is loading the dataset in memory");
    let health = locks.registry().health();
    let of = |pool: &str| {
        health
            .iter()
            .find(|it| it.pool == pool)
            .unwrap()
            .status
            .clone()
    };
    assert!(matches!(of("a"), NodeStatus::Abstaining(_)));
    assert!(
        matches!(of("b"), NodeStatus::Abstaining(error) if error.to_string().starts_with("LOADING"))
    );
    assert!(matches!(of("c"), NodeStatus::Voting));
}

#[tokio::test]
async fn each_run_makes_the_same_tokens() {
    let token = async || {
        let _locks = TestLocks::new();
        let lease = lock("r").acquire().await.unwrap();
        lease.token_id().to_owned()
    };
    assert_eq!(token().await, token().await);
}
