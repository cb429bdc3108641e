//! The metrics.

#![expect(clippy::float_cmp, reason = "they are counts, and whole")]

use std::time::Duration;

use redlock_runtime::parameters::{LockOptions, Mode};
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, lock, redlock};
use redlock_tests::{drop_after, eventually};
use tokio::sync::oneshot;

use crate::fixture::{
    SOON, answered_later, figures, registry, start, start_as, start_with, until_the_clock_moves,
};

async fn until(what: &str, holds: impl Fn() -> bool) {
    eventually(what, SOON, || async {
        if holds() { Ok(()) } else { Err(figures().0) }
    })
    .await;
}

#[redlock(resource = "figures:{id}", name = "figures::held")]
async fn held(
    id: &str,
    begun: oneshot::Sender<()>,
    end: oneshot::Receiver<()>,
) -> Result<(), LockError> {
    begun.send(()).unwrap();
    end.await.unwrap();
    Ok(())
}

#[tokio::test]
async fn a_call_counts_while_it_waits_while_it_holds_and_when_it_is_done() {
    figures();
    let (nodes, redlock) =
        start_with(|config| config.defaults(LockOptions::new().wait(SOON))).await;
    let site = "figures::held";
    let (begun, has_begun) = oneshot::channel();
    let (end, has_ended) = oneshot::channel();
    for node in &nodes {
        node.set("figures:1", "somebody", Some(SOON));
    }
    let call = tokio::spawn(registry(&redlock).scope(held("1", begun, has_ended)));
    until("a caller that waits", || {
        figures().of_site("redlock_waiting", site) == 1.0
    })
    .await;
    assert_eq!(figures().of_site("redlock_held", site), 0.0);
    until_the_clock_moves();
    for node in &nodes {
        node.del("figures:1");
    }
    has_begun.await.unwrap();
    let now = figures();
    assert_eq!(now.of_site("redlock_waiting", site), 0.0);
    assert_eq!(now.of_site("redlock_held", site), 1.0);
    assert_eq!(now.of_site("redlock_wait_seconds_count", site), 1.0);
    assert_eq!(now.of_site("redlock_hold_seconds_count", site), 0.0);
    until_the_clock_moves();
    end.send(()).unwrap();
    call.await.unwrap().unwrap();
    let now = figures();
    assert_eq!(now.of_site("redlock_held", site), 0.0);
    assert_eq!(now.of_site("redlock_hold_seconds_count", site), 1.0);
    assert!(now.of_site("redlock_wait_seconds_sum", site) > 0.0);
    assert!(now.of_site("redlock_hold_seconds_sum", site) > 0.0);
    assert_eq!(now.outcome(site, "acquired"), 1.0);
    assert_eq!(now.outcome(site, "contended"), 0.0);
    // What is locked is no label: there is no end of it.
    assert!(!now.0.contains("figures:1"), "{}", now.0);
    redlock.shutdown().await;
}

#[tokio::test]
async fn the_kind_of_a_lock_is_a_label() {
    figures();
    let (_nodes, redlock) = start().await;
    let name = "figures: kinds";
    let kinds = [
        ("plain", LockOptions::new()),
        ("permits", LockOptions::new().permits(2)),
        ("read", LockOptions::new().mode(Mode::Read)),
        ("write", LockOptions::new().mode(Mode::Write)),
    ];
    for (kind, options) in kinds {
        let wanted = lock(format!("figures: {kind}")).name(name).options(options);
        let lease = registry(&redlock).scope(wanted.acquire()).await.unwrap();
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
    redlock.shutdown().await;
}

#[redlock(resource = "{resource}", name = "figures::outcomes")]
async fn outcomes(resource: &str) -> Result<(), LockError> {
    Ok(())
}

#[redlock(
    resource = "figures: held",
    if_locked = "skip",
    name = "figures::skips"
)]
async fn skips() {
    std::future::ready(()).await;
}

#[tokio::test]
async fn each_outcome_is_counted_by_its_name() {
    figures();
    let (nodes, redlock) = start().await;
    let site = "figures::outcomes";
    for node in &nodes {
        node.set("figures: held", "somebody", Some(SOON));
    }
    let calls = async {
        outcomes("figures: free").await.unwrap();
        outcomes("figures: held").await.unwrap_err();
        outcomes("redlock:").await.unwrap_err();
        lock("figures: job")
            .once_per(SOON * 3)
            .run(async {})
            .await
            .unwrap();
        let again = lock("figures: job").once_per(SOON * 3).run(async {}).await;
        let again = again.unwrap_err();
        assert!(again.is_already_run(), "{again}");
        let joins = async { outcomes("figures: free").await.unwrap() };
        lock("figures: free").run(joins).await.unwrap();
        skips().await;
        let waiting = lock("figures: held").name("figures: goes away").wait(SOON);
        assert!(drop_after(2, waiting.acquire()).await.is_none());
        again
    };
    let again = registry(&redlock).scope(calls).await;
    let now = figures();
    assert_eq!(now.outcome(site, "acquired"), 1.0);
    assert_eq!(now.outcome(site, "contended"), 1.0);
    assert_eq!(now.outcome(site, "invalid"), 1.0);
    assert_eq!(now.outcome(site, "joined"), 1.0);
    assert_eq!(now.of_site("redlock_hold_seconds_count", site), 2.0);
    assert_eq!(now.outcome("figures::skips", "skipped"), 1.0);
    assert_eq!(now.outcome("figures::skips", "contended"), 0.0);
    assert_eq!(now.outcome(again.site().site_name(), "already_run"), 1.0);
    assert_eq!(now.outcome("figures: goes away", "cancelled"), 1.0);

    nodes[0].kill();
    nodes[1].kill();
    registry(&redlock)
        .scope(outcomes("figures: unavailable"))
        .await
        .unwrap_err();
    registry(&redlock).scope(skips()).await;
    let late = registry(&redlock);
    redlock.shutdown().await;
    late.scope(outcomes("figures: late")).await.unwrap_err();
    let now = figures();
    assert_eq!(now.outcome(site, "unavailable"), 1.0);
    assert_eq!(now.outcome(site, "shutting_down"), 1.0);
    let swallowed = |kind| {
        let labels = [("site", "figures::skips"), ("error_type", kind)];
        now.get("redlock_swallowed_errors_total", &labels)
    };
    assert_eq!(swallowed("unavailable"), Some(1.0));
    assert_eq!(swallowed("lost"), Some(0.0));
    for gauge in ["redlock_waiting", "redlock_held"] {
        assert_eq!(now.of_site(gauge, site), 0.0, "{gauge}");
    }
}

#[redlock(resource = "figures of a loss", ttl = 1000, name = "figures::lost")]
async fn outlasts_its_lock() -> Result<(), LockError> {
    std::future::pending().await
}

#[redlock(resource = "figures of a theft", guard = lease, name = "figures::stolen")]
async fn is_stolen(nodes: &redlock_tests::Nodes) -> Result<(), LockError> {
    lease.extend(Duration::from_secs(60)).await?;
    for node in nodes {
        node.del("figures of a theft");
    }
    lease.extend(Duration::from_secs(60)).await
}

#[redlock(
    resource = "figures of renewals",
    ttl = 6_000,
    max_hold = "1h",
    name = "figures::renewed"
)]
async fn is_renewed() -> Result<(), LockError> {
    tokio::time::sleep(Duration::from_secs(60)).await;
    Ok(())
}

#[redlock(
    resource = "figures of a long hold",
    ttl = 6_000,
    max_hold = "20s",
    name = "figures::outlasts"
)]
async fn outlasts_max_hold() -> Result<(), LockError> {
    std::future::pending().await
}

#[tokio::test]
async fn extensions_renewals_and_losses_are_counted_at_their_sites() {
    figures();
    let (nodes, redlock) = start().await;
    let extensions = |site, outcome| {
        let labels = [("site", site), ("outcome", outcome)];
        figures().get("redlock_extensions_total", &labels)
    };
    let lost = |site, reason| {
        let labels = [("site", site), ("reason", reason)];
        figures().get("redlock_lost_total", &labels)
    };
    let stolen = registry(&redlock).scope(is_stolen(&nodes)).await;
    stolen.unwrap_err();
    assert_eq!(lost("figures::stolen", "taken"), Some(1.0));
    assert_eq!(extensions("figures::stolen", "extended"), Some(1.0));
    assert_eq!(extensions("figures::stolen", "lost"), Some(1.0));
    redlock.shutdown().await;

    // What goes by a short ttl has a clock of its own.
    tokio::time::pause();
    let _locks = TestLocks::new();
    outlasts_its_lock().await.unwrap_err();
    is_renewed().await.unwrap();
    outlasts_max_hold().await.unwrap_err();
    assert_eq!(lost("figures::lost", "expired"), Some(1.0));
    assert_eq!(lost("figures::outlasts", "max_hold"), Some(1.0));
    assert_eq!(lost("figures::outlasts", "expired"), Some(0.0));
    assert_eq!(lost("figures::lost", "taken"), Some(0.0));
    let renewals = extensions("figures::renewed", "extended");
    assert!(renewals >= Some(2.0), "{renewals:?}");
}

#[tokio::test]
async fn the_nodes_figures_follow_the_nodes() {
    figures();
    let names = ["figures-a", "figures-b", "figures-c"];
    let (nodes, redlock) = start_as(names, |config| config).await;
    let of = |name: &str, pool| figures().get(name, &[("pool", pool)]);
    until("nodes that vote", || {
        names
            .iter()
            .all(|pool| of("redlock_node_voting", pool) == Some(1.0))
    })
    .await;
    let acquiring = registry(&redlock).scope(lock("figures of nodes").acquire());
    let lease = answered_later(&nodes, acquiring).await.unwrap();
    lease.release().await;
    for pool in names {
        until("two answers, one of which took a while", || {
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
    let lease = registry(&redlock)
        .scope(lock("figures of nodes").acquire())
        .await
        .unwrap();
    lease.release().await;
    let labels = [("pool", names[2]), ("error_type", "not_connected")];
    until("an error", || {
        figures().get("redlock_node_errors_total", &labels) >= Some(1.0)
    })
    .await;
    assert_eq!(of("redlock_node_voting", names[0]), Some(1.0));
    // The figure counts the lease once a quarter of the ttl has passed.
    let held = lock("figures of nodes").ttl(Duration::from_secs(20));
    let held = registry(&redlock).scope(held.acquire()).await.unwrap();
    until("a lease that does not rest on it", || {
        of("redlock_node_leases_not_resting", names[2]) == Some(1.0)
    })
    .await;
    assert_eq!(of("redlock_node_leases_not_resting", names[0]), Some(0.0));
    held.release().await;
    until("no such lease", || {
        of("redlock_node_leases_not_resting", names[2]) == Some(0.0)
    })
    .await;
    redlock.shutdown().await;
}
