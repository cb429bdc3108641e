//! The metrics.

#![expect(clippy::float_cmp, reason = "they are counts, and whole")]

use std::time::Duration;

use redlock_runtime::parameters::{Kind, LockOptions};
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, lock, redlock};
use redlock_tests::{drop_after, eventually};
use tokio::sync::oneshot;
use tokio::time::advance;

use crate::fixture::{SOON, figures, registry, start_as};

const SECOND: Duration = Duration::from_secs(1);

async fn until(what: &str, holds: impl Fn() -> bool) {
    eventually(what, SOON, || async {
        if holds() { Ok(()) } else { Err(figures().0) }
    })
    .await;
}

#[redlock(resource = "figures:{id}", name = "figures::held")]
async fn held(id: &str, end: oneshot::Receiver<()>) -> Result<(), LockError> {
    end.await.unwrap();
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_call_counts_while_it_waits_and_holds_and_when_done() {
    figures();
    let locks = TestLocks::new();
    let site = "figures::held";
    let gauges = || ["redlock_waiting", "redlock_held"].map(|it| figures().of_site(it, site));
    let hold = locks.hold("figures:1");
    let (end, has_ended) = oneshot::channel();
    let call = tokio::spawn(held("1", has_ended));
    locks.until_waiting("figures:1").await;
    assert_eq!(gauges(), [1.0, 0.0]);
    advance(SECOND).await;
    hold.release();
    locks.until_held("figures:1").await;
    assert_eq!(gauges(), [0.0, 1.0]);
    let now = figures();
    assert_eq!(now.of_site("redlock_wait_seconds_count", site), 1.0);
    assert_eq!(now.of_site("redlock_hold_seconds_count", site), 0.0);
    advance(SECOND).await;
    end.send(()).unwrap();
    call.await.unwrap().unwrap();
    assert_eq!(gauges(), [0.0, 0.0]);
    let now = figures();
    assert_eq!(now.of_site("redlock_hold_seconds_count", site), 1.0);
    assert!(now.of_site("redlock_wait_seconds_sum", site) >= 1.0);
    assert!(now.of_site("redlock_hold_seconds_sum", site) >= 1.0);
    assert_eq!(now.outcome(site, "acquired"), 1.0);
    // What is locked is no label: there is no end of it.
    assert!(!now.0.contains("figures:1"), "{}", now.0);
}

#[tokio::test]
async fn the_kind_of_a_lock_is_a_label() {
    figures();
    let _locks = TestLocks::new();
    let name = "figures: kinds";
    for (kind, options) in [
        ("plain", LockOptions::new()),
        ("permits", LockOptions::new().permits(2)),
        ("read", LockOptions::new().kind(Kind::Read)),
        ("write", LockOptions::new().kind(Kind::Write)),
    ] {
        let wanted = lock(format!("figures: {kind}")).name(name).options(options);
        let lease = wanted.acquire().await.unwrap();
        let of_kind = |series: &str| figures().get(series, &[("site", name), ("kind", kind)]);
        assert_eq!(of_kind("redlock_held"), Some(1.0), "{kind}");
        lease.release().await;
        assert_eq!(of_kind("redlock_held"), Some(0.0), "{kind}");
        assert_eq!(of_kind("redlock_hold_seconds_count"), Some(1.0), "{kind}");
        let counted = |outcome| {
            let labels = [("site", name), ("kind", kind), ("outcome", outcome)];
            figures().get("redlock_acquisitions_total", &labels)
        };
        assert_eq!(counted("acquired"), Some(1.0), "{kind}");
        // A rate sees the first of each.
        assert_eq!(counted("contended"), Some(0.0), "{kind}");
    }
}

#[redlock(resource = "{resource}", retry_count = 0, name = "figures::outcomes")]
async fn outcomes(resource: &str) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "{resource}", once_per = "1h", name = "figures::job")]
async fn job(resource: &str) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "taken", if_locked = "skip", name = "figures::skips")]
async fn skips() {
    std::future::ready(()).await;
}

#[tokio::test]
async fn each_outcome_is_counted_by_its_name() {
    figures();
    let locks = TestLocks::new();
    let _hold = locks.hold("taken");
    outcomes("free").await.unwrap();
    outcomes("taken").await.unwrap_err();
    outcomes("redlock:").await.unwrap_err();
    let joins = async { outcomes("joined").await.unwrap() };
    lock("joined").run(joins).await.unwrap();
    assert!(
        drop_after(2, lock("taken").name("figures: goes away").acquire())
            .await
            .is_none()
    );
    job("job").await.unwrap();
    assert!(job("job").await.unwrap_err().is_already_run());
    skips().await;
    locks.cut_all();
    outcomes("free").await.unwrap_err();
    skips().await;
    locks.shutdown().await;
    outcomes("free").await.unwrap_err();
    let now = figures();
    for (site, outcome, count) in [
        ("figures::outcomes", "acquired", 1.0),
        ("figures::outcomes", "contended", 1.0),
        ("figures::outcomes", "invalid", 1.0),
        ("figures::outcomes", "joined", 1.0),
        ("figures::outcomes", "unavailable", 1.0),
        ("figures::outcomes", "shutting_down", 1.0),
        ("figures::job", "already_run", 1.0),
        ("figures::skips", "skipped", 1.0),
        ("figures::skips", "contended", 0.0),
        ("figures: goes away", "cancelled", 1.0),
    ] {
        assert_eq!(now.outcome(site, outcome), count, "{outcome} of {site}");
    }
    assert_eq!(
        now.of_site("redlock_hold_seconds_count", "figures::outcomes"),
        2.0
    );
    let swallowed = |kind| {
        let labels = [("site", "figures::skips"), ("error_type", kind)];
        now.get("redlock_swallowed_errors_total", &labels)
    };
    assert_eq!(swallowed("unavailable"), Some(1.0));
    assert_eq!(swallowed("lost"), Some(0.0));
}

#[redlock(resource = "expires", ttl = 1000, name = "figures::lost")]
async fn outlasts_its_lock() -> Result<(), LockError> {
    std::future::pending().await
}

#[redlock(resource = "stolen", guard = lease, name = "figures::stolen")]
async fn is_stolen(locks: &TestLocks) -> Result<(), LockError> {
    lease.extend(SECOND).await?;
    let _thief = locks.other_client().steal("stolen");
    lease.extend(SECOND).await
}

#[redlock(
    resource = "renewed",
    ttl = 6_000,
    max_hold = "20s",
    name = "figures::renewed"
)]
async fn outlasts_max_hold() -> Result<(), LockError> {
    std::future::pending().await
}

#[tokio::test(start_paused = true)]
async fn extensions_renewals_and_losses_are_counted() {
    figures();
    let locks = TestLocks::new();
    is_stolen(&locks).await.unwrap_err();
    outlasts_its_lock().await.unwrap_err();
    outlasts_max_hold().await.unwrap_err();
    let extensions = |site, outcome| {
        let labels = [("site", site), ("outcome", outcome)];
        figures().get("redlock_extensions_total", &labels)
    };
    let lost = |site, reason| {
        let labels = [("site", site), ("reason", reason)];
        figures().get("redlock_lost_total", &labels)
    };
    assert_eq!(extensions("figures::stolen", "extended"), Some(1.0));
    assert_eq!(extensions("figures::stolen", "lost"), Some(1.0));
    assert_eq!(lost("figures::stolen", "taken"), Some(1.0));
    assert_eq!(lost("figures::lost", "expired"), Some(1.0));
    assert_eq!(lost("figures::lost", "taken"), Some(0.0));
    assert_eq!(lost("figures::renewed", "max_hold"), Some(1.0));
    let renewals = extensions("figures::renewed", "extended");
    assert!(renewals >= Some(2.0), "{renewals:?}");
}

#[tokio::test]
async fn the_nodes_figures_follow_the_nodes() {
    figures();
    let names = ["figures-a", "figures-b", "figures-c"];
    let (nodes, redlock) = start_as(names).await;
    let of = |name: &str, pool| figures().get(name, &[("pool", pool)]);
    until("nodes that vote", || {
        names
            .iter()
            .all(|pool| of("redlock_node_voting", pool) == Some(1.0))
    })
    .await;
    let acquiring = registry(&redlock).scope(lock("figures of nodes").acquire());
    acquiring.await.unwrap().release().await;
    for pool in names {
        until("two answers, which took a while", || {
            of("redlock_node_latency_seconds_count", pool) >= Some(2.0)
                && of("redlock_node_latency_seconds_sum", pool) > Some(0.0)
        })
        .await;
        until("a connection", || {
            of("redlock_node_connections_total", pool) == Some(1.0)
        })
        .await;
        let offset = of("redlock_node_clock_offset_seconds", pool).unwrap();
        assert!(offset.abs() < 20.0, "{offset}");
    }
    nodes[2].kill();
    until("a node that does not vote", || {
        of("redlock_node_voting", names[2]) == Some(0.0)
    })
    .await;
    let acquiring = registry(&redlock).scope(lock("figures of nodes").acquire());
    acquiring.await.unwrap().release().await;
    let labels = [("pool", names[2]), ("error_type", "not_connected")];
    until("an error", || {
        figures().get("redlock_node_errors_total", &labels) >= Some(1.0)
    })
    .await;
    assert_eq!(of("redlock_node_voting", names[0]), Some(1.0));
    redlock.shutdown().await;
}
