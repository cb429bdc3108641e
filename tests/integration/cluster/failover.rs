//! Masters that hand over, die or hang, with callers on all slots.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::{Lease, NodeSet};
use redlock_tests::{RedisCluster, RedisNode, eventually, wait_until};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::cluster::fixture::{
    LONG, SOON, client, connect, connect_with, extend_soon, impatient, once, reason, until_voting,
};
use crate::core::fixture::{calm, until_abstaining};

/// Callers that lock names of one master again and again.
struct Load {
    is_over: Arc<AtomicBool>,
    locked: Arc<AtomicU32>,
    callers: Vec<JoinHandle<Vec<AcquireError>>>,
}

impl Load {
    /// Each on a name of its own, so that only nodes can refuse it. Those on a master that fails
    /// are `impatient`: a call ends with the node timeout.
    fn start(cluster: &RedisCluster, set: &NodeSet, master: usize, is_impatient: bool) -> Self {
        let (is_over, locked) = (Arc::<AtomicBool>::default(), Arc::<AtomicU32>::default());
        let client = if is_impatient { impatient() } else { client() };
        let callers = (0..16)
            .map(|n| {
                let request = once(cluster.name_at(master, &format!("load:{master}:{n}")));
                let (set, client) = (set.clone(), client.clone());
                let (is_over, locked) = (Arc::clone(&is_over), Arc::clone(&locked));
                tokio::spawn(async move {
                    let mut errors = Vec::new();
                    while !is_over.load(Ordering::Relaxed) {
                        let call = timeout(SOON, client.acquire(&set, &request));
                        match call.await.expect("no call hangs") {
                            Ok(lease) => {
                                lease.release().await;
                                locked.fetch_add(1, Ordering::Relaxed);
                            }
                            Err(error) => {
                                errors.push(error);
                                // While no server answers, another try would only take processor
                                // time from the servers.
                                tokio::time::sleep(Duration::from_millis(1)).await;
                            }
                        }
                        tokio::task::yield_now().await;
                    }
                    errors
                })
            })
            .collect();
        Self {
            is_over,
            locked,
            callers,
        }
    }

    /// Waits until it goes on.
    async fn goes_on(&self) {
        let locked = || self.locked.load(Ordering::Relaxed);
        let before = locked();
        wait_until("locks to be taken", locked, |now| now - before > 100).await;
    }

    /// What its calls said that did not get a lock.
    async fn end(self) -> Vec<AcquireError> {
        self.is_over.store(true, Ordering::Relaxed);
        let mut errors = Vec::new();
        for caller in self.callers {
            errors.extend(caller.await.unwrap());
        }
        errors
    }
}

fn assert_nobody_else(errors: &[AcquireError]) {
    for error in errors {
        assert!(
            matches!(error, AcquireError::Unavailable(_)),
            "nobody else has it: {error}"
        );
    }
}

async fn until_replica(server: &RedisNode) {
    let is_replica = |role: &Option<String>| role.as_deref() == Some("slave");
    wait_until("a replica", || server.info("role"), is_replica).await;
}

/// With `suspect_after` as it is by default: a master that hangs votes no soon.
async fn connect_watchfully(cluster: &RedisCluster) -> NodeSet {
    let options = calm().suspect_after(Duration::from_millis(200));
    let set = connect_with(&cluster.url(), options).await;
    until_voting(&set).await;
    set
}

/// Locks `name` for as long as a test takes. On a busy machine a watchful node refuses some calls.
async fn lock_soon(set: &NodeSet, name: &str) -> Lease {
    eventually("a lock", SOON, async || {
        let locked = client().acquire(set, &once(name).ttl(LONG)).await;
        locked.map_err(|error| error.to_string())
    })
    .await
}

#[tokio::test]
async fn masters_hand_over_to_their_replicas_under_load() {
    let cluster = RedisCluster::start(1).await;
    let set = connect(&cluster).await;
    let name = cluster.name_at(0, "order");
    let slot = cluster.slot_of(&name);
    let lease = lock_soon(&set, &name).await;
    let loads = [0, 1].map(|master| Load::start(&cluster, &set, master, false));
    for (from, to) in [(0, 3), (3, 0), (0, 3)] {
        cluster.hand_over(slot, to).await;
        for load in &loads {
            load.goes_on().await;
        }
        extend_soon(&lease).await;
        let master = cluster[from].info("role");
        assert_eq!(master.as_deref(), Some("slave"));
    }
    let [handed_over, other] = loads;
    assert_nobody_else(&handed_over.end().await);
    assert!(other.end().await.is_empty(), "the others noticed nothing");
    until_voting(&set).await;
    assert_eq!(lease.release().await, Released::Confirmed);
    cluster.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_master_that_dies_leaves_what_it_is_owed_to_its_replica() {
    let cluster = RedisCluster::start(1).await;
    let set = connect(&cluster).await;
    let name = cluster.name_at(0, "order");
    let slot = cluster.slot_of(&name);
    let request = once(&name).ttl(LONG);
    let owed = client().acquire(&set, &request).await.unwrap();
    let kept = cluster.name_at(0, "kept");
    let kept = client()
        .acquire(&set, &once(&kept).ttl(LONG))
        .await
        .unwrap();
    wait_until("the keys", || cluster[3].keys(), |keys| keys.len() == 2).await;

    let loads = [0, 1, 2].map(|master| Load::start(&cluster, &set, master, true));
    for load in &loads {
        load.goes_on().await;
    }
    cluster[0].kill();
    assert_eq!(
        owed.release().await,
        Released::Unconfirmed,
        "nobody is there to say so"
    );
    let text = until_abstaining(&set[0], "").await;
    let dead = cluster[0].addr().to_string();
    assert!(
        text.contains("10923 of 16384 slots are served") && text.contains(&dead),
        "{text}"
    );
    for load in &loads[1..] {
        load.goes_on().await;
    }

    cluster.until_replaced(slot, 3).await;
    until_voting(&set).await;
    loads[0].goes_on().await;
    // It went to the replica, as the ttl is far away; the other one is still ours.
    drop(client().acquire(&set, &request).await.unwrap());
    kept.extend(LONG).await.unwrap();
    assert_eq!(kept.release().await, Released::Confirmed);
    for load in loads {
        assert_nobody_else(&load.end().await);
    }
    assert!(client().flush(&set, SOON).await.is_empty());
    cluster.assert_no_lock_keys(SOON).await;

    // The old master comes back as a replica, which changes nothing for the leases.
    cluster[0].restart().await;
    until_replica(&cluster[0]).await;
    drop(client().acquire(&set, &request).await.unwrap());
    assert_eq!(reason(&set), None);
}

#[tokio::test]
async fn a_master_that_hangs_votes_no_and_comes_back_to_nothing() {
    let cluster = RedisCluster::start(1).await;
    let set = connect_watchfully(&cluster).await;
    let name = cluster.name_at(0, "order");
    let slot = cluster.slot_of(&name);
    let victims = Load::start(&cluster, &set, 0, true);
    let others = Load::start(&cluster, &set, 1, true);
    victims.goes_on().await;
    cluster[0].freeze();
    until_abstaining(&set[0], "no answer for").await;
    let refused = client().acquire(&set, &once(&name)).await.unwrap_err();
    assert!(refused.to_string().contains("no answer for"), "{refused}");
    others.goes_on().await;

    cluster.until_replaced(slot, 3).await;
    victims.goes_on().await;
    until_voting(&set).await;
    let lease = lock_soon(&set, &name).await;
    // It may still serve what is in its sockets. That has no effect, as it soon becomes a replica.
    cluster[0].thaw();
    until_replica(&cluster[0]).await;
    victims.goes_on().await;
    extend_soon(&lease).await;
    assert_eq!(lease.release().await, Released::Confirmed);
    for load in [victims, others] {
        assert_nobody_else(&load.end().await);
    }
    cluster.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_cluster_that_is_down_at_the_start_votes_once_it_is_up() {
    let cluster = RedisCluster::start(0).await;
    for server in cluster.servers() {
        server.kill();
    }
    let set = connect(&cluster).await;
    let error = client()
        .acquire(&set, &once("r"))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("connection refused"), "{error}");
    for server in cluster.servers() {
        server.restart().await;
    }
    until_voting(&set).await;
    eventually("a lock", SOON, async || {
        let locked = client().acquire(&set, &once("r")).await;
        locked.map_err(|error| error.to_string())
    })
    .await
    .release()
    .await;
    cluster.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn calls_that_are_dropped_in_a_failover_leave_no_key() {
    let cluster = RedisCluster::start(1).await;
    let set = connect_watchfully(&cluster).await;
    let name = cluster.name_at(0, "order");
    let slot = cluster.slot_of(&name);
    let is_over = Arc::<AtomicBool>::default();
    let dropping = tokio::spawn({
        let (set, is_over, name) = (set.clone(), Arc::clone(&is_over), name.clone());
        async move {
            let client = client();
            let mut polls = 0;
            while !is_over.load(Ordering::Relaxed) {
                polls = (polls + 1) % 4;
                let request = once(&name).ttl(LONG);
                let call = async { client.acquire(&set, &request).await.map(drop) };
                redlock_tests::drop_after(polls, call).await;
                tokio::task::yield_now().await;
            }
        }
    });
    cluster.hand_over(slot, 3).await;
    let link = || cluster[0].info("master_link_status");
    let is_up = |link: &Option<String>| link.as_deref() == Some("up");
    wait_until("a replica that is up to date", link, is_up).await;
    cluster[3].kill();
    cluster.until_replaced(slot, 0).await;
    until_voting(&set).await;
    is_over.store(true, Ordering::Relaxed);
    dropping.await.unwrap();
    cluster.assert_no_lock_keys(SOON).await;
}
