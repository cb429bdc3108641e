//! Notes and looks, through the attribute and the object style.

use std::fmt;
use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::parameters::MAX_NOTE_BYTES;
use redlock_runtime::peek::Remaining;
use redlock_runtime::{LockError, Redlock, current_lease, lock, redlock};

use crate::runtime::fixture::{SOON, config, registry, start};

struct Job {
    name: &'static str,
    clerk: Option<&'static str>,
}

/// The note of the innermost lease.
fn own() -> String {
    let lease = current_lease().expect("below a body");
    lease
        .note()
        .map_or_else(String::new, |note| note.as_str().to_owned())
}

#[redlock(
    resource = "order:{id}",
    note = "{job.name} {id:04} {{}}",
    retry_count = 0
)]
async fn template(id: u64, job: Job) -> Result<String, LockError> {
    // The note borrowed what the body moves.
    let Job { clerk, .. } = job;
    Ok(own() + clerk.unwrap_or_default())
}

#[redlock(resource = "order:{id}", note = job.clerk.unwrap_or("nobody"))]
async fn expression(id: u64, job: &Job) -> Result<String, LockError> {
    Ok(own())
}

#[redlock(resource = "order:{id}", note = format!("{}", "x".repeat(length)))]
async fn long(id: u64, length: usize) -> Result<String, LockError> {
    Ok(own())
}

#[redlock(resource = "order:{id}")]
async fn plain(id: u64) -> Result<String, LockError> {
    Ok(own())
}

#[redlock(resource = "order:{id}", note = "outer")]
async fn outer(id: u64) -> Result<String, LockError> {
    inner(id).await
}

#[redlock(resource = "order:{id}", note = "inner")]
async fn inner(id: u64) -> Result<String, LockError> {
    Ok(own())
}

/// A `Display` that fails on its way.
struct Fails;

impl fmt::Display for Fails {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("half")?;
        Err(fmt::Error)
    }
}

#[tokio::test]
async fn a_note_is_a_template_or_an_expression_over_the_arguments() {
    let (_nodes, redlock) = start(3).await;
    let _entered = redlock.registry().enter();
    let job = |clerk| Job {
        name: "refund",
        clerk,
    };
    assert_eq!(template(42, job(None)).await.unwrap(), "refund 0042 {}");
    assert_eq!(expression(42, &job(None)).await.unwrap(), "nobody");
    assert_eq!(expression(42, &job(Some("Ada"))).await.unwrap(), "Ada");
    assert_eq!(plain(42).await.unwrap(), "");
    let amount = 300;
    let refund = lock("order:42").note(format_args!("refund of {amount}"));
    let noted = refund.run(async { own() });
    assert_eq!(noted.await.unwrap(), "refund of 300");
}

#[tokio::test]
async fn a_note_that_is_too_long_or_fails_keeps_nobody_from_a_lock() {
    let (_nodes, redlock) = start(1).await;
    let _entered = redlock.registry().enter();
    assert_eq!(long(1, MAX_NOTE_BYTES).await.unwrap().len(), MAX_NOTE_BYTES);
    let cut = long(1, MAX_NOTE_BYTES + 1).await.unwrap();
    assert!(cut.len() == MAX_NOTE_BYTES && cut.ends_with('…'), "{cut}");
    assert_eq!(long(1, 0).await.unwrap(), "");
    let lease = lock("r").note(Fails).acquire().await.unwrap();
    assert_eq!(lease.note().unwrap().as_str(), "half");
}

#[tokio::test]
async fn a_call_below_a_holder_has_the_holders_note() {
    let (_nodes, redlock) = start(1).await;
    let _entered = redlock.registry().enter();
    assert_eq!(outer(1).await.unwrap(), "outer");
    assert_eq!(inner(1).await.unwrap(), "inner");
}

#[tokio::test]
async fn a_look_tells_the_holder_from_any_registry() {
    let (nodes, redlock) = start(3).await;
    let other = Redlock::start(config(&nodes)).await.unwrap();
    let look = async |redlock: &Redlock| registry(redlock).scope(lock("r").peek()).await.unwrap();
    assert!(look(&other).await.is_free());
    let held = lock("r").note("refund").ttl(Duration::from_secs(60));
    let lease = registry(&redlock).scope(held.acquire()).await.unwrap();
    for seen_by in [&redlock, &other] {
        let status = look(seen_by).await;
        let holder = status.holder().expect("held");
        assert_eq!(holder.owner(), Some(redlock.registry().owner()));
        assert_eq!(holder.note().unwrap().as_str(), "refund");
        assert!(
            matches!(holder.remaining(), Remaining::Expires(_)),
            "{status}"
        );
        let text = status.to_string();
        assert!(
            text.contains(" (`refund`) for ") && text.ends_with(" of 3 nodes"),
            "{text}"
        );
    }
    lease.release().await;
    assert!(look(&other).await.is_free());
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_look_goes_to_the_pools_that_the_lock_names() {
    let (nodes, _) = start(3).await;
    let redlock = Redlock::start(config(&nodes)).await.unwrap();
    let _entered = redlock.registry().enter();
    nodes[0].set("r", "by hand", Some(SOON));
    let held = lock("r").pools(["a"]).peek().await.unwrap();
    assert_eq!(
        held.holder().map(|holder| (holder.owner(), holder.nodes())),
        Some((None, 1))
    );
    assert!(lock("r").pools(["b"]).peek().await.unwrap().is_free());

    let unknown = lock("r").pools(["z"]).peek().await.unwrap_err();
    assert!(
        matches!(unknown.kind(), LockErrorKind::UnknownPool { .. }),
        "{unknown}"
    );
    let invalid = lock("").peek().await.unwrap_err();
    assert!(
        matches!(invalid.kind(), LockErrorKind::Invalid(_)),
        "{invalid}"
    );
}

#[tokio::test]
async fn a_look_is_possible_while_the_registry_shuts_down() {
    let (_nodes, redlock) = start(3).await;
    let registry = registry(&redlock);
    redlock.shutdown().await;
    let status = registry.scope(lock("r").peek()).await.unwrap();
    assert!(status.is_free(), "{status}");
}
