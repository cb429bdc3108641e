//! Whom a refusal names, what finished calls left behind, and jobs.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::parameters::OnCancel;
use redlock_runtime::registry::Registry;
use redlock_runtime::{Config, LockError, Redlock, inspect, lock, redlock};
use serde_json::{Value, json};

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

#[redlock(resource = "report", min_hold = "20s", name = "contention::report")]
async fn report() -> Result<(), LockError> {
    Ok(())
}

async fn in_memory() -> Redlock {
    start(Config::new().pool("a", "memory://a")).await
}

fn json(document: &inspect::Document) -> Value {
    serde_json::from_str(&document.body).expect("JSON")
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

#[tokio::test]
async fn keys_that_a_finished_call_left_on_purpose_are_listed_until_they_expire() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    registry.clone().scope(report()).await.unwrap();
    let cut_off = lock("transfer")
        .ttl(Duration::from_secs(10))
        .on_cancel(OnCancel::Expire)
        .run(std::future::pending::<()>());
    let cut_off = tokio::spawn(registry.clone().scope(cut_off));
    redlock_tests::eventually("the body", SOON, async || {
        let is_held = registry.held().iter().any(|it| it.has_body);
        is_held.then_some(()).ok_or_else(|| "not yet".to_owned())
    })
    .await;
    cut_off.abort();
    assert!(cut_off.await.is_err());

    let kept = registry.kept();
    let shown: Vec<_> = kept
        .iter()
        .map(|it| (it.resource.to_string(), it.parameter))
        .collect();
    let expected = [("report", "min_hold"), ("transfer", "on_cancel")];
    assert_eq!(
        shown,
        expected.map(|(resource, why)| (resource.to_owned(), why))
    );
    assert!(kept[0].left <= Duration::from_secs(20) && kept[0].left > Duration::from_secs(5));
    assert!(kept[1].left <= Duration::from_secs(10), "{kept:?}");

    let held = json(&inspect::held(registry));
    assert_eq!(held["held"], json!([]));
    assert_eq!(held["kept"][0]["site"], json!("contention::report"));
    assert_eq!(held["kept"][1]["site"], json!(null));
    let page = inspect::page(registry, "/", None).body;
    assert!(
        page.contains("Kept until") && page.contains("min_hold"),
        "{page}"
    );

    // A call that such a key refuses is told what it is.
    let again = registry.clone().scope(report()).await.unwrap_err();
    assert!(
        matches!(again.kind(), LockErrorKind::Contended(_)),
        "{again}"
    );
    let text = again.to_string();
    assert!(
        text.contains("a finished call of `contention::report` (") && text.contains("`min_hold`"),
        "{text}"
    );

    // A lock that is given back is not kept.
    let lease = registry
        .clone()
        .scope(lock("other").acquire())
        .await
        .unwrap();
    lease.release().await;
    assert_eq!(registry.kept().len(), 2);
}

#[expect(dead_code, reason = "the page shows it without a call")]
#[redlock(resource = "invoices", once_per = "1h", name = "contention::invoices")]
async fn invoices() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn a_job_shows_its_period() {
    let redlock = in_memory().await;
    let page = inspect::page(redlock.registry(), "/", None).body;
    assert!(page.contains("runs once in 1 h"), "{page}");
}
