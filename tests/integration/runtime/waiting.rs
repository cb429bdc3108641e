//! What a call does while another client holds its lock: gives up, waits, or is skipped.

use redlock_runtime::parameters::{LockOptions, Wait};
use redlock_runtime::{FromSkip, LockError, Redlock, lock, redlock};
use redlock_tests::{Nodes, drop_after};

use crate::runtime::fixture::{
    SOON, config, registry, spawn_on, start, start_nodes, until_in_line,
};

#[redlock(resource = "r", retry_count = 0)]
async fn tries_once() -> Result<&'static str, LockError> {
    Ok("ran")
}

#[redlock(resource = "r", if_locked = "skip")]
async fn sweeps(ran: &mut bool) {
    *ran = true;
}

#[redlock(resource = "r", if_locked = "skip")]
async fn finds() -> Option<u32> {
    Some(7)
}

#[redlock(resource = "r", if_locked = "skip")]
async fn tries_to_find() -> Result<Option<u32>, LockError> {
    Ok(Some(7))
}

#[redlock(resource = "r", if_locked = "skip")]
async fn tries_to_sweep() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    Err("the body's own".into())
}

#[redlock(resource = "r", if_locked = "skip", wait = "1m", retry_delay = 10)]
async fn would_rather_wait() -> Option<u32> {
    Some(7)
}

#[redlock(resource = "r", if_locked = "error")]
async fn says_so() -> Result<(), LockError> {
    Ok(())
}

#[derive(Debug, PartialEq)]
enum Swept {
    Done,
    ByAnother,
    Failed,
}

impl FromSkip for Swept {
    fn skipped() -> Self {
        Self::ByAnother
    }

    fn from_lock_error(_: LockError) -> Self {
        Self::Failed
    }
}

#[redlock(resource = "r", if_locked = "skip")]
async fn sweeps_its_own_way() -> Swept {
    Swept::Done
}

/// A registry whose locks would be tried for ever, but for what attributes say.
async fn stubborn(n: usize) -> (Nodes, Redlock) {
    let nodes = start_nodes(n).await;
    let config = config(&nodes).defaults(LockOptions::new().wait(Wait::Forever));
    (nodes, Redlock::start(config).await.unwrap())
}

#[tokio::test]
async fn the_attribute_takes_the_place_of_the_configurations_wait() {
    let (nodes, redlock) = stubborn(3).await;
    let lease = registry(&redlock).scope(lock("r").acquire()).await.unwrap();
    let refused = registry(&redlock).scope(tries_once()).await.unwrap_err();
    assert!(refused.is_contended(), "{refused}");
    let mut waiting = spawn_on(&redlock, says_so());
    until_in_line(&redlock, 1).await;
    // The configuration's own rule: for ever. It was refused as often as the others by now.
    for _ in 0..5 {
        let refused = registry(&redlock).scope(tries_once()).await.unwrap_err();
        assert!(refused.is_contended(), "{refused}");
    }
    assert!(drop_after(1, &mut waiting).await.is_none());
    lease.release().await;
    waiting.await.unwrap().unwrap();
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_call_whose_lock_is_free_is_not_skipped() {
    let (nodes, redlock) = stubborn(3).await;
    let registry = registry(&redlock);
    let mut ran = false;
    registry.clone().scope(sweeps(&mut ran)).await;
    assert!(ran);
    assert_eq!(registry.clone().scope(finds()).await, Some(7));
    let found = registry.clone().scope(tries_to_find()).await;
    assert_eq!(found.unwrap(), Some(7));
    let own = registry.clone().scope(tries_to_sweep()).await;
    assert_eq!(own.unwrap_err().to_string(), "the body's own");
    assert_eq!(
        registry.clone().scope(sweeps_its_own_way()).await,
        Swept::Done
    );
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_call_whose_lock_is_held_is_skipped_without_waiting() {
    // Were they to wait as the configuration says, they would never come back.
    let (_nodes, redlock) = stubborn(3).await;
    let registry = registry(&redlock);
    let lease = registry.clone().scope(lock("r").acquire()).await.unwrap();
    let mut ran = false;
    registry.clone().scope(sweeps(&mut ran)).await;
    assert!(!ran);
    assert_eq!(registry.clone().scope(finds()).await, None);
    assert_eq!(registry.clone().scope(tries_to_find()).await.unwrap(), None);
    registry.clone().scope(tries_to_sweep()).await.unwrap();
    let swept = registry.clone().scope(sweeps_its_own_way()).await;
    assert_eq!(swept, Swept::ByAnother);

    let mut waiting = spawn_on(&redlock, would_rather_wait());
    until_in_line(&redlock, 1).await;
    for _ in 0..5 {
        assert_eq!(registry.clone().scope(finds()).await, None);
    }
    assert!(drop_after(1, &mut waiting).await.is_none());
    lease.release().await;
    assert_eq!(waiting.await.unwrap(), Some(7));
}

#[tokio::test]
async fn any_other_trouble_than_a_held_lock_is_no_reason_to_skip() {
    let (nodes, redlock) = start(3).await;
    for node in &nodes {
        node.kill();
    }
    let registry = registry(&redlock);
    let mut ran = false;
    registry.clone().scope(sweeps(&mut ran)).await;
    assert!(!ran);
    assert_eq!(registry.clone().scope(finds()).await, None);
    let failed = registry.clone().scope(tries_to_find()).await.unwrap_err();
    assert!(failed.is_unavailable(), "{failed}");
    assert_eq!(
        failed.site().name(),
        concat!(module_path!(), "::tries_to_find"),
    );
    let swept = registry.clone().scope(sweeps_its_own_way()).await;
    assert_eq!(swept, Swept::Failed);
}
