//! What a registry makes of nodes that forget.

use std::time::Duration;

use redlock_runtime::health::PoolHealth;
use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::parameters::{LockOptions, MaxHold};
use redlock_runtime::{Config, Lease, Redlock, lock};
use redlock_tests::{Nodes, eventually, wait_until};

use crate::restart_check::fixture::{MAX_TTL, SOON, Set};
use crate::runtime::fixture::until_held_everywhere;

pub(crate) fn config(nodes: &Nodes) -> Config {
    let config = Config::new().defaults(LockOptions::new().retry_count(0));
    // On a busy machine no node is late.
    let config = config.node_timeout(SOON).connect_timeout(SOON);
    let config = config
        .max_ttl(MAX_TTL * 60)
        .defaults(LockOptions::new().ttl(MAX_TTL * 60));
    let urls = nodes.urls().into_iter().zip('a'..);
    urls.fold(config, |config, (url, name)| config.pool(name, url))
}

/// Nodes of a set that was opened before: all of them vote at once, on however slow a machine.
async fn start(n: usize) -> Nodes {
    let nodes = Nodes::start(n).await;
    drop(Set::standard(nodes.urls()).await.voting().await);
    nodes
}

#[tokio::test]
async fn a_lease_is_lost_when_a_majority_of_its_nodes_restarted() {
    let nodes = start(3).await;
    let redlock = Redlock::start(config(&nodes)).await.unwrap();
    let registry = redlock.registry().clone();
    let lease = registry.scope(lock("r").acquire()).await.unwrap();
    until_held_everywhere(&nodes, "r").await;

    nodes[0].restart().await;
    let status = || format!("{:?}", redlock.registry().health()[0].status);
    let is_told = |status: &String| status.contains("may have forgotten locks");
    wait_until("the health to tell", status, is_told).await;
    assert!(lease.validity() > Duration::ZERO);

    nodes[1].restart().await;
    assert_eq!(lease.lost().await, LeaseEnd::Forgotten);
}

/// What the runbook looks at before another node may be restarted, in every process.
fn may_go_on(processes: &[Redlock]) -> Result<(), String> {
    let pools = processes.iter().map(|it| it.registry().health());
    let pools: Vec<PoolHealth> = pools.flatten().collect();
    let is_ready = |pool: &PoolHealth| pool.is_voting() && pool.leases_without_grant == 0;
    match pools.iter().find(|pool| !is_ready(pool)) {
        None => Ok(()),
        Some(pool) => Err(format!(
            "{}: {:?}, {}",
            pool.pool, pool.status, pool.leases_without_grant
        )),
    }
}

#[tokio::test]
async fn a_rolling_restart_by_the_runbook_loses_no_lease() {
    let ttl = Duration::from_secs(3);
    let nodes = start(3).await;
    let mut processes = Vec::new();
    for _ in 0..2 {
        let config = config(&nodes)
            .max_ttl(ttl)
            .defaults(LockOptions::new().ttl(ttl));
        processes.push(Redlock::start(config).await.unwrap());
    }
    let registry = |process: &Redlock| process.registry().clone();
    let (mut leases, mut plains) = (Vec::new(), Vec::new());
    for (index, process) in processes.iter().enumerate() {
        for number in 0..10 {
            let renewed = lock(format!("r:{index}:{number}")).max_hold(MaxHold::Unlimited);
            let acquired = registry(process).scope(renewed.acquire()).await;
            leases.push(acquired.unwrap());
        }
    }
    for (restarted, node) in nodes.iter().enumerate() {
        eventually("what the runbook waits for", SOON, || async {
            // As long as answers may still be coming, a lease is not counted.
            let is_counted = |lease: &Lease| lease.held_for() >= ttl / 4;
            let all_are = leases.iter().all(is_counted);
            all_are.then_some(()).ok_or("too young")?;
            may_go_on(&processes)
        })
        .await;
        let epochs = |process: &Redlock| process.registry().health()[restarted].epoch;
        let before: Vec<u32> = processes.iter().map(epochs).collect();
        node.restart().await;
        for (process, before) in processes.iter().zip(before) {
            let name = "the process to notice";
            wait_until(name, || epochs(process), |now| *now > before).await;
        }
        // One that is taken meanwhile rests on the others only, until it ends.
        let plain = lock(format!("plain:{restarted}")).acquire();
        let plain = registry(&processes[0]).scope(plain).await.unwrap();
        plains.push(tokio::spawn(async move {
            plain.lost().await;
            plain.held_for()
        }));
        for lease in &leases {
            let lost = tokio::time::timeout(Duration::ZERO, lease.lost())
                .await
                .ok();
            // A machine that stood still may miss renewals.
            let has_expired = |over: &LeaseEnd| over.is_end_of_validity();
            assert!(
                lost.as_ref().is_none_or(has_expired),
                "{lost:?} at the restart of {restarted}"
            );
        }
    }
    for plain in plains {
        let held_for = plain.await.unwrap();
        assert!(held_for >= ttl * 9 / 10, "{held_for:?}");
    }
}
