//! Every parameter, both ways: what it changes, and what is so without it. On in-process nodes.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::lease::{FencingToken, LeaseEnd};
use redlock_runtime::registry::Registry;
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{Config, Lease, LockError, current_lease, redlock};
use redlock_tests::{drop_after, wait_until};

pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Runs `test` on pools `a`, `b` and `c` of its own.
pub(crate) async fn with_registry<F: Future>(test: impl FnOnce(Registry) -> F) {
    let locks = TestLocks::with_config(Config::new().node_timeout(SOON));
    test(locks.registry().clone()).await;
}

pub(crate) fn keys(registry: &Registry, pool: &str) -> Vec<String> {
    let keys = registry.memory_node(pool).unwrap().keys();
    let text = |key| String::from_utf8(key).unwrap();
    keys.into_iter().map(text).collect()
}

fn validity() -> Duration {
    current_lease().expect("a lease").validity()
}

fn held() -> String {
    current_lease().expect("a lease").resource().to_string()
}

const SECOND: Duration = Duration::from_secs(1);

#[redlock(resource = "order:{id:04}")]
async fn template(id: u64) -> Result<String, LockError> {
    Ok(held())
}

#[redlock(resource = ["b:{id}", "a:{id}", "b:{other}"])]
async fn templates(id: u64, other: u64) -> Result<String, LockError> {
    Ok(held())
}

#[redlock(resource = names.iter().map(|name| format!("{{{name}}}")).collect::<Vec<_>>())]
async fn expression(names: &[&str]) -> Result<String, LockError> {
    Ok(held())
}

const UNREPLACED: &str = "order:{id}";

#[redlock(resource = UNREPLACED)]
async fn constant(id: u64) -> Result<u64, LockError> {
    Ok(id)
}

#[redlock(resource = &item.title)]
async fn field(item: Item) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn a_text_with_a_parameter_in_braces_is_refused_if_no_literal() {
    with_registry(async |registry| {
        let refused = constant(7).await.unwrap_err();
        assert!(refused.is_invalid(), "{refused}");
        let text = refused.to_string();
        assert!(
            text.contains("`{id}`") && text.contains("resource ="),
            "{text}"
        );
        let item = |title: &str| Item {
            title: title.into(),
        };
        assert!(
            field(item("a:{ item.title:part }"))
                .await
                .unwrap_err()
                .is_invalid()
        );
        // Braces around anything else are a hash tag of Redis Cluster.
        field(item("{orders}:{7}:{item")).await.unwrap();
        assert_eq!(keys(&registry, "a"), [""; 0]);
    })
    .await;
}

const PREFIX: &str = "const:ant";

struct Item {
    title: String,
}

#[redlock(resource = "{PREFIX}:{tenant:part}:{item.title:part}:{PREFIX:part}:{tenant}")]
async fn parts(tenant: &str, item: Item) -> Result<String, LockError> {
    Ok(held())
}

#[tokio::test]
async fn a_part_of_a_resource_holds_any_text() {
    with_registry(async |_| {
        let parts = async |tenant, title: &str| {
            let title = title.to_owned();
            parts(tenant, Item { title }).await.unwrap()
        };
        let key = parts("a:b", "c").await;
        assert_eq!(key, "const:ant:a%3Ab:c:const%3Aant:a:b");
        let other = parts("a", "b:c").await;
        assert_eq!(other, "const:ant:a:b%3Ac:const%3Aant:a");
        let long = parts("a", &"long text ".repeat(1000)).await;
        assert!(
            long.starts_with("const:ant:a:long%20text%20long%20te*"),
            "{long}"
        );
        // The object style has the same.
        let title = redlock_runtime::Resource::part("long text ".repeat(1000));
        assert_eq!(long, format!("const:ant:a:{title}:const%3Aant:a"));
    })
    .await;
}

#[tokio::test]
async fn resource() {
    with_registry(async |_| {
        assert_eq!(template(7).await.unwrap(), "order:0007");
        assert_eq!(templates(1, 2).await.unwrap(), "a:1 + b:1 + b:2");
        assert_eq!(templates(1, 1).await.unwrap(), "a:1 + b:1");
        assert_eq!(expression(&["x"]).await.unwrap(), "{x}");
        let refused = expression(&[]).await.unwrap_err();
        assert!(refused.is_invalid(), "{refused}");
    })
    .await;
}

#[redlock(resource = "r")]
async fn default_ttl() -> Result<Duration, LockError> {
    Ok(validity())
}

#[redlock(resource = "r", ttl = 30_000)]
async fn ttl_in_ms() -> Result<Duration, LockError> {
    Ok(validity())
}

#[redlock(resource = "r", ttl = "1m 30s")]
async fn ttl_as_text() -> Result<Duration, LockError> {
    Ok(validity())
}

#[redlock(resource = "r", ttl = ttl)]
async fn ttl_as_expression(ttl: Duration) -> Result<Duration, LockError> {
    Ok(validity())
}

#[tokio::test]
async fn ttl() {
    with_registry(async |_| {
        for (validity, ttl) in [
            (default_ttl().await, 60 * SECOND),
            (ttl_in_ms().await, 30 * SECOND),
            (ttl_as_text().await, 90 * SECOND),
            (ttl_as_expression(40 * SECOND).await, 40 * SECOND),
        ] {
            let validity = validity.unwrap();
            assert!(
                validity < ttl && validity > ttl / 2,
                "{validity:?} of {ttl:?}"
            );
        }
        for ttl in [Duration::ZERO, Duration::MAX, 6 * 60 * SECOND] {
            let refused = ttl_as_expression(ttl).await.unwrap_err();
            assert!(refused.is_invalid(), "{ttl:?}: {refused}");
        }
    })
    .await;
}

#[redlock(resource = "r", pools = ["a", "c"])]
async fn two_pools(registry: &Registry) -> Result<[usize; 3], LockError> {
    Ok(["a", "b", "c"].map(|pool| keys(registry, pool).len()))
}

#[redlock(resource = "r")]
async fn default_pools(registry: &Registry) -> Result<[usize; 3], LockError> {
    Ok(["a", "b", "c"].map(|pool| keys(registry, pool).len()))
}

#[tokio::test]
async fn pools() {
    with_registry(async |registry| {
        assert_eq!(two_pools(&registry).await.unwrap(), [1, 0, 1]);
        assert_eq!(default_pools(&registry).await.unwrap(), [1, 1, 1]);
    })
    .await;
}

#[redlock(resource = "r", retry_count = 0, retry_delay = 1)]
async fn tries_once() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "r", retry_count = retries, retry_delay = Duration::from_millis(1))]
async fn tries(retries: u32) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "r", retry_delay = "1ms")]
async fn default_retries() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "r", retry_count = 1, retry_delay = "1h")]
async fn tries_again_in_an_hour() -> Result<(), LockError> {
    Ok(())
}

fn attempts(refused: Result<(), LockError>) -> u32 {
    let refused = refused.unwrap_err();
    match refused.kind() {
        LockErrorKind::Contended(contended) => contended.attempts,
        _ => panic!("{refused}"),
    }
}

/// Has another client, of another process for all that is known, hold `r` on all nodes, or not.
fn hold_elsewhere(registry: &Registry, is_held: bool) {
    for pool in ["a", "b", "c"] {
        let node = registry.memory_node(pool).unwrap();
        if is_held {
            node.put(b"r", b"someone", SOON);
        } else {
            node.delete(b"r");
        }
    }
}

#[tokio::test]
async fn retry_count_and_retry_delay() {
    with_registry(async |registry| {
        hold_elsewhere(&registry, true);
        assert_eq!(attempts(tries_once().await), 1);
        assert_eq!(attempts(tries(4).await), 5);
        assert_eq!(attempts(default_retries().await), 3);
        let mut in_an_hour = Box::pin(tries_again_in_an_hour());
        assert!(drop_after(1, in_an_hour.as_mut()).await.is_none());
        drop(in_an_hour);
        assert_eq!(attempts(tries(3).await), 4);
        hold_elsewhere(&registry, false);
        tries_once().await.unwrap();
    })
    .await;
}

#[redlock(resource = "r", wait = budget, retry_delay = 1)]
async fn waits(budget: Duration) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "r", wait = "forever", retry_delay = 1)]
async fn waits_forever() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn wait() {
    with_registry(async |registry| {
        hold_elsewhere(&registry, true);
        assert!(attempts(waits(SECOND).await) > 1);
        let free_it = async {
            // The others wait by then, and are the ones who ask.
            assert_eq!(attempts(waits(SECOND).await), 0);
            hold_elsewhere(&registry, false);
        };
        let (waited, forever, ()) = tokio::join!(waits(SOON), waits_forever(), free_it);
        waited.unwrap();
        forever.unwrap();
    })
    .await;
}

#[redlock(resource = "r", ttl = "10s", clock_drift_factor = 0.5)]
async fn much_drift() -> Result<Duration, LockError> {
    Ok(validity())
}

#[redlock(resource = "r", ttl = "10s", clock_drift_factor = factor)]
async fn drift(factor: f64) -> Result<Duration, LockError> {
    Ok(validity())
}

#[tokio::test]
async fn clock_drift_factor() {
    with_registry(async |_| {
        assert!(much_drift().await.unwrap() < 5 * SECOND);
        assert!(drift(0.5).await.unwrap() < 5 * SECOND);
        assert!(drift(0.0).await.unwrap() > 5 * SECOND);
        let refused = drift(-0.5).await.unwrap_err();
        assert!(
            refused.to_string().contains("clock_drift_factor"),
            "{refused}"
        );
    })
    .await;
}

#[redlock(resource = "r", ttl = "1m", min_validity = 0.66)]
async fn least_part() -> Result<Duration, LockError> {
    Ok(validity())
}

#[redlock(resource = "r", ttl = "1m", min_validity = least)]
async fn least(least: Duration) -> Result<Duration, LockError> {
    Ok(validity())
}

#[tokio::test]
async fn min_validity() {
    with_registry(async |_| {
        assert!(least_part().await.unwrap() > 30 * SECOND);
        least(Duration::ZERO).await.unwrap();
        // The drift alone takes more than is left here.
        let refused = least(Duration::from_millis(59_900)).await.unwrap_err();
        assert!(refused.to_string().contains("min_validity"), "{refused}");
    })
    .await;
}

async fn hold_for(time: Duration) {
    let lease = current_lease().expect("a lease");
    wait_until("the time to pass", || lease.held_for(), |held| *held > time).await;
}

#[redlock(resource = "r", ttl = 1500, max_hold = "1m")]
async fn renewed() -> Result<Duration, LockError> {
    hold_for(2 * SECOND).await;
    Ok(validity())
}

#[redlock(resource = "r", ttl = 1500)]
async fn not_renewed() -> Result<Duration, LockError> {
    hold_for(2 * SECOND).await;
    Ok(validity())
}

#[tokio::test(start_paused = true)]
async fn max_hold() {
    with_registry(async |_| {
        assert!(!renewed().await.unwrap().is_zero());
        let lost = not_renewed().await.unwrap_err();
        assert!(
            matches!(lost.kind(), LockErrorKind::Lost(LeaseEnd::Expired)),
            "{lost}"
        );
    })
    .await;
}

#[redlock(resource = "r", fencing = true, guard = lease)]
async fn fenced() -> Result<FencingToken, LockError> {
    // The same below the lease, where no type says so.
    let below = current_lease().and_then(|lease| lease.fenced());
    assert_eq!(
        below.map(|it| it.fencing_token()),
        Some(lease.fencing_token())
    );
    Ok(lease.fencing_token())
}

const FENCED: bool = true;

#[redlock(resource = "r", fencing = FENCED, guard = lease)]
async fn fenced_by_a_constant() -> Result<Option<FencingToken>, LockError> {
    let lease: &Lease = lease;
    Ok(lease.fenced().map(|lease| lease.fencing_token()))
}

#[redlock(resource = "r", fencing = is_fenced, guard = lease)]
async fn fenced_at_the_call(is_fenced: bool) -> Result<Option<FencingToken>, LockError> {
    Ok(lease.fenced().map(|lease| lease.fencing_token()))
}

#[redlock(resource = "r", guard = lease)]
async fn unfenced() -> Result<bool, LockError> {
    Ok(lease.fenced().is_some())
}

#[tokio::test]
async fn fencing() {
    with_registry(async |_| {
        let first = fenced().await.unwrap();
        let second = fenced_by_a_constant().await.unwrap();
        let third = fenced_at_the_call(true).await.unwrap();
        assert!(Some(first) < second && second < third);
        assert!(fenced().await.unwrap() > third.expect("a token"));
        assert_eq!(fenced_at_the_call(false).await.unwrap(), None);
        assert!(!unfenced().await.unwrap());
    })
    .await;
}

/// Has the nodes forget all that they granted.
fn forget(registry: &Registry) {
    for pool in ["a", "b", "c"] {
        registry.memory_node(pool).unwrap().begin_epoch();
    }
}

#[redlock(resource = "r")]
async fn cancelled_by_default(registry: &Registry) -> Result<(), LockError> {
    forget(registry);
    std::future::pending().await
}

#[redlock(resource = "r", on_lost = "cancel")]
async fn cancelled(registry: &Registry) -> Result<(), LockError> {
    forget(registry);
    std::future::pending().await
}

#[redlock(resource = "r", on_lost = "cancel")]
async fn ends_late(registry: &Registry) -> Result<&'static str, LockError> {
    forget(registry);
    Ok("its value")
}

#[redlock(resource = "r", on_lost = "continue")]
async fn goes_on(registry: &Registry) -> Result<LeaseEnd, LockError> {
    forget(registry);
    let over = current_lease().expect("a lease").lost().await;
    tokio::task::yield_now().await;
    Ok(over)
}

#[tokio::test]
async fn on_lost() {
    with_registry(async |registry| {
        for lost in [
            cancelled_by_default(&registry).await,
            cancelled(&registry).await,
        ] {
            let lost = lost.unwrap_err();
            assert!(
                matches!(lost.kind(), LockErrorKind::Lost(LeaseEnd::Forgotten)),
                "{lost}"
            );
        }
        assert_eq!(ends_late(&registry).await.unwrap(), "its value");
        assert_eq!(goes_on(&registry).await.unwrap(), LeaseEnd::Forgotten);
    })
    .await;
}
