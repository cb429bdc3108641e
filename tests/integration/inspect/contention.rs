//! Whom a refusal names, and jobs.

use redlock_runtime::registry::Registry;
use redlock_runtime::{Config, LockError, Redlock, redlock};

use crate::inspect::fixture::{SOON, start};

const PARENT: &str = "contention::parent";

/// Waits for a task of its own that wants the same lock.
#[redlock(resource = "order:{id}", name = "contention::parent")]
async fn parent(id: u64, registry: Registry) -> Result<LockError, LockError> {
    let spawned = tokio::spawn(registry.scope(child(id)));
    Ok(spawned.await.expect("no panic").unwrap_err())
}

#[redlock(resource = "order:{id}", wait = "50ms", name = "contention::child")]
async fn child(id: u64) -> Result<(), LockError> {
    println!("order {id}");
    Ok(())
}

async fn in_memory() -> Redlock {
    start(Config::new().pool("a", "memory://a")).await
}

#[tokio::test]
async fn a_task_that_waits_for_its_own_parent_is_told_who_holds_the_lock() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    let calling = registry.clone().scope(parent(7, registry.clone()));
    let text = calling.await.unwrap().to_string();
    let place = format!("the holder is `{PARENT}` (");
    assert!(
        text.starts_with("`order:7` is held by ") && text.contains(&place),
        "{text}"
    );
    assert!(text.contains("inspect/contention.rs:"), "{text}");
    // That a task was spawned by the holder cannot be seen, and most are not.
    assert!(
        text.ends_with(" now") && !text.contains("its own parent"),
        "{text}"
    );

    // This process does not hold the lock now, so the next refusal names no function.
    let node = registry.memory_node("a").unwrap();
    let token = format!("web-7/3121/{}", "0f".repeat(16));
    node.put(b"order:7", token.as_bytes(), SOON);
    let calling = registry.clone().scope(child(7));
    let text = calling.await.unwrap_err().to_string();
    assert!(
        text.contains("held by web-7/3121") && !text.contains("in this process"),
        "{text}"
    );
}

#[expect(dead_code, reason = "the page shows it without a call")]
#[redlock(resource = "invoices", once_per = "1h", name = "contention::invoices")]
async fn invoices() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn a_job_shows_its_period() {
    let redlock = in_memory().await;
    let page = redlock_inspect::page(redlock.registry(), "/", None).body;
    assert!(page.contains("<code>once_per</code> 1h"), "{page}");
}
