//! The lease of the code that runs now.

use redlock_runtime::{LockError, current_lease, lock, redlock};

use crate::runtime::fixture::{SOON, catch_unwind, registry, start};

fn here() -> Option<String> {
    current_lease().map(|lease| lease.resource().to_string())
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
async fn current_is_the_innermost_lease_of_the_call_chain() {
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

#[redlock(resource = ["a", "b"])]
async fn asserts_what_is_held() -> Result<(), LockError> {
    redlock_runtime::assert_held("a");
    redlock_runtime::assert_held(["b", "a"]);
    assert!(!redlock_runtime::is_held("c"));
    assert!(!redlock_runtime::is_held(["a", "c"]));
    let below = async { redlock_runtime::assert_held(["a", "c"]) };
    lock("c").run(below).await
}

#[tokio::test]
async fn code_below_can_make_sure_of_its_lock() {
    let (_nodes, redlock) = start(3).await;
    registry(&redlock)
        .scope(asserts_what_is_held())
        .await
        .unwrap();
    assert!(!redlock_runtime::is_held("a"));
    let unwound = catch_unwind(async { redlock_runtime::assert_held("a") }).await;
    let panic = unwound.unwrap_err();
    let text = panic.downcast_ref::<String>().expect("a text");
    assert_eq!(
        text,
        "`a` is not locked here; no lock is held above this call"
    );
    let asserting = lock("b").run(catch_unwind(async { redlock_runtime::assert_held("a") }));
    let panic = registry(&redlock).scope(asserting).await.unwrap();
    let panic = panic.unwrap_err();
    let text = panic.downcast_ref::<String>().expect("a text");
    assert_eq!(text, "`a` is not locked here; held above this call: `b`");
}
