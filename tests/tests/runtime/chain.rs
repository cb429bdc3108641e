//! The lease of the code that runs now.

use redlock_runtime::{LockError, current, redlock};

use crate::fixture::{SOON, registry, start};

fn here() -> Option<String> {
    current().map(|lease| lease.resource().to_string())
}

#[redlock(resource = "inner")]
async fn inner() -> Result<Option<String>, LockError> {
    tokio::task::yield_now().await;
    Ok(here())
}

#[redlock(resource = "outer")]
async fn outer() -> Result<[Option<String>; 4], LockError> {
    let before = here();
    let (below, beside) = tokio::join!(inner(), async {
        tokio::task::yield_now().await;
        here()
    });
    let spawned = tokio::spawn(async { here() }).await.unwrap_or_default();
    Ok([before, below?, beside, spawned])
}

#[tokio::test]
async fn current_is_the_innermost_lease_of_the_call_chain_and_not_of_a_spawned_task() {
    let (nodes, redlock) = start(3).await;
    let seen = registry(&redlock)
        .scope(async {
            assert_eq!(here(), None);
            let seen = outer().await.unwrap();
            assert_eq!(here(), None);
            seen
        })
        .await;
    let named = |name: &str| Some(name.to_owned());
    assert_eq!(seen, [named("outer"), named("inner"), named("outer"), None]);
    nodes.assert_no_lock_keys(SOON).await;
}
