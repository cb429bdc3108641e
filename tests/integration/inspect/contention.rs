//! Refused calls by holder, and what finished calls left behind.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::parameters::OnCancel;
use redlock_runtime::registry::Registry;
use redlock_runtime::{Config, Lease, LockError, Redlock, inspect, lock, redlock};
use serde_json::{Value, json};

use crate::inspect::fixture::{SOON, start};

const PARENT: &str = "contention::parent";
const CHILD: &str = "contention::child";

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

fn site<'a>(sites: &'a Value, name: &str) -> &'a Value {
    let sites = sites["sites"].as_array().unwrap();
    sites.iter().find(|it| it["site"] == json!(name)).unwrap()
}

fn named<'a>(sites: &'a Value, name: &str) -> &'a Value {
    let named = sites["object_style"]["named"].as_array().unwrap();
    let found = named.iter().find(|it| it["name"] == json!(name));
    found.unwrap_or(&Value::Null)
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
async fn a_site_shows_by_whom_its_calls_were_refused_and_how_long_they_waited() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    let calling = registry.clone().scope(parent(8, registry.clone()));
    calling.await.unwrap();
    let node = registry.memory_node("a").unwrap();
    let token = format!("web-7/3121/{}", "0f".repeat(16));
    node.put(b"order:9", token.as_bytes(), SOON);
    for _ in 0..3 {
        registry.clone().scope(child(9)).await.unwrap_err();
    }
    // A name hides nothing of the object style.
    for once in [lock("order:9"), lock("order:9").name("refunds")] {
        let once = once.retry_count(0).acquire();
        registry.clone().scope(once).await.map(|_| ()).unwrap_err();
    }

    let sites = json(&inspect::sites(registry));
    let refused = site(&sites, CHILD)["refused"].as_array().unwrap();
    let [theirs, ours] = &refused[..] else {
        panic!("two holders: {refused:?}");
    };
    assert_eq!(theirs["by"], json!("web-7/3121"));
    assert_eq!(
        (&theirs["count"], &theirs["resource"]),
        (&json!(3), &json!("order:9"))
    );
    assert!(
        theirs["longest_wait_ms"].as_u64().unwrap() >= 20,
        "{theirs}"
    );
    assert!(
        ours["by"]
            .as_str()
            .unwrap()
            .starts_with(&format!("`{PARENT}` (")),
        "{ours}"
    );
    assert_eq!(ours["count"], json!(1));
    assert_eq!(site(&sites, PARENT)["refused"], json!([]));
    let object_style = &sites["object_style"]["refused"];
    assert_eq!(object_style[0]["by"], json!("web-7/3121"));
    assert_eq!(object_style[0]["count"], json!(1));
    assert_eq!(object_style.as_array().unwrap().len(), 1, "without a name");
    let refunds = named(&sites, "refunds");
    assert_eq!(refunds["refused"][0]["by"], json!("web-7/3121"));
    assert_eq!(refunds["refused"][0]["count"], json!(1));

    let page = inspect::page(registry, "/", None).body;
    assert!(
        page.contains("refused 3 times") && page.contains("web-7/3121"),
        "{page}"
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
        .run(|_lease| std::future::pending::<()>());
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

#[redlock(resource = "sweep", if_locked = "skip", name = "contention::sweep")]
async fn sweep() {}

/// A skipped call is as planned, and no failure.
#[tokio::test]
async fn calls_that_their_function_skips_are_shown_as_skipped() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    let lease = registry.clone().scope(lock("sweep").acquire()).await;
    let lease = lease.unwrap();
    registry.clone().scope(sweep()).await;
    registry.clone().scope(sweep()).await;
    let sites = json(&inspect::sites(registry));
    let of_it = site(&sites, "contention::sweep");
    assert_eq!(of_it["refused"], json!([]));
    assert_eq!(of_it["skipped"][0]["count"], json!(2));
    let page = inspect::page(registry, "/", None).body;
    assert!(
        page.contains("skipped twice") && !page.contains("refused twice"),
        "{page}"
    );
    lease.release().await;
}

#[redlock(resource = "invoices", once_per = "1h", name = "contention::invoices")]
async fn invoices() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn a_job_shows_its_period_and_its_last_run() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    let shown = || {
        let sites = json(&inspect::sites(registry));
        let of_it = site(&sites, "contention::invoices");
        let page = inspect::page(registry, "/", None).body;
        assert!(page.contains("runs once in 1 h"), "{page}");
        (of_it["last_run"].clone(), page)
    };
    let (last_run, page) = shown();
    assert_eq!(last_run, json!(null));
    assert!(!page.contains("last run by"), "{page}");

    registry.clone().scope(invoices()).await.unwrap();
    let (last_run, page) = shown();
    assert_eq!(last_run["by"], json!(registry.owner()));
    assert_eq!(last_run["resource"], json!("invoices"));
    assert_eq!(last_run["calls_not_run"], json!(0));
    let next_in = last_run["next_in_ms"].as_u64().unwrap();
    assert!(
        (50 * 60 * 1000..=54 * 60 * 1000).contains(&next_in),
        "{last_run}"
    );
    assert!(
        page.contains("last run by") && page.contains("may run again in 5"),
        "{page}"
    );

    for _ in 0..3 {
        registry.clone().scope(invoices()).await.unwrap_err();
    }
    let (last_run, page) = shown();
    assert_eq!(last_run["calls_not_run"], json!(3));
    assert!(
        last_run["began"].as_str().unwrap().ends_with('Z'),
        "{last_run}"
    );
    assert!(page.contains("not run again 3 times"), "{page}");
}

#[tokio::test]
async fn a_name_of_the_object_style_shows_its_last_run_and_what_it_holds() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    let nightly = || {
        let job = lock("nightly").name("contention::nightly");
        job.once_per(Duration::from_secs(3600))
            .run(|_lease| async {})
    };
    let shown = || {
        let sites = json(&inspect::sites(registry));
        let of_it = named(&sites, "contention::nightly").clone();
        (of_it, inspect::page(registry, "/", None).body)
    };
    let (of_it, page) = shown();
    assert_eq!(of_it, Value::Null);
    assert!(!page.contains("Object style"), "{page}");

    registry.clone().scope(nightly()).await.unwrap();
    registry.clone().scope(nightly()).await.unwrap_err();
    let (of_it, page) = shown();
    assert_eq!(of_it["last_run"]["by"], json!(registry.owner()));
    assert_eq!(of_it["last_run"]["calls_not_run"], json!(1));
    assert_eq!((&of_it["held"], &of_it["refused"]), (&json!(0), &json!([])));
    assert!(
        of_it["file"].as_str().unwrap().ends_with("contention.rs"),
        "{of_it}"
    );
    assert!(
        page.contains("contention::<wbr>nightly") && page.contains("last run by"),
        "{page}"
    );

    let other = lock("other").name("contention::other");
    let lease = registry.clone().scope(other.acquire()).await.unwrap();
    // A name that is only held is under "Held" alone.
    assert_eq!(registry.named().len(), 1);
    lease.release().await;
    // Another registry of this process has had neither run nor refusal.
    let another = in_memory().await;
    assert!(another.registry().named().is_empty());
}

#[redlock(resource = "transfer:{id}", ttl = "1s", name = "contention::transfer")]
async fn transfer(id: u64, registry: &Registry) -> Result<(), LockError> {
    registry.memory_node("a").unwrap().begin_epoch();
    std::future::pending::<()>().await;
    println!("transfer {id}");
    Ok(())
}

#[tokio::test]
async fn the_last_losses_are_shown_with_function_and_reason() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    assert!(!inspect::page(registry, "/", None).body.contains("Lost "));
    let calling = registry.clone().scope(transfer(7, registry));
    let error = calling.await.unwrap_err();
    assert!(error.to_string().contains("was lost"), "{error}");
    let held = json(&inspect::held(registry));
    let lost = &held["lost"][0];
    assert_eq!(lost["site"], json!("contention::transfer"));
    assert_eq!(lost["resource"], json!("transfer:7"));
    assert_eq!(lost["reason"], json!("forgotten"));
    assert!(lost["ago_ms"].is_u64(), "{lost}");
    let page = inspect::page(registry, "/", None).body;
    assert!(
        page.contains("transfer:7") && page.contains("may have forgotten"),
        "{page}"
    );
    // What its holder gave back is not lost.
    let lease = registry.clone().scope(lock("other").acquire()).await;
    lease.unwrap().release().await;
    assert_eq!(registry.lost().len(), 1);
}

/// A reader of the page who counts the rows would take 32 for all that were lost.
#[tokio::test]
async fn a_list_of_losses_that_is_full_is_told_as_the_last_ones() {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    let mut leases = Vec::new();
    for number in 0..40 {
        let lease = lock(format!("transfer:{number}")).acquire();
        leases.push(registry.clone().scope(lease).await.unwrap());
    }
    registry.memory_node("a").unwrap().begin_epoch();
    let lose = async |leases: Vec<Lease>| {
        for lease in leases {
            lease.lost().await;
            drop(lease);
        }
        inspect::page(registry, "/", None).body
    };
    let rest = leases.split_off(31);
    let page = lose(leases).await;
    assert!(page.contains("(31, under running work)"), "{page}");
    let page = lose(rest).await;
    assert!(page.contains("(the last 32, under running work)"), "{page}");
}
