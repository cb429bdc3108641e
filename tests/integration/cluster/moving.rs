//! Slots that move from one master to another.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use redlock_core::error::{AcquireError, ExtendError};
use redlock_core::lease::Released;
use redlock_core::request::Kind;
use redlock_core::{Request, Resource};
use redlock_tests::{RedisCluster, wait_until};

use crate::cluster::fixture::{LONG, SOON, client, connect, extend_soon, once, reason};

/// One attempt, for a lease that is kept while slots move.
fn kept(resource: impl Into<Resource>) -> Request {
    once(resource).ttl(LONG)
}

#[tokio::test]
async fn while_a_slot_moves_its_leases_live_and_nobody_gets_in() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    let (one, other) = (client(), client());
    let tag = cluster.name_at(0, "account");
    let slot = cluster.slot_of(&tag);
    let name = |n: u32| format!("{{{tag}}}:{n}");
    let refusal = async |n: u32| other.acquire(&set, &once(name(n))).await.unwrap_err();
    let is_moving = async |n: u32| {
        let refused = refusal(n).await;
        assert!(matches!(refused, AcquireError::Unavailable(_)), "{refused}");
        assert!(refused.to_string().contains("ASK "), "{refused}");
    };

    let kept = one.acquire(&set, &kept(name(1))).await.unwrap();
    let released = one.acquire(&set, &once(name(2))).await.unwrap();
    let dropped = one.acquire(&set, &once(name(3)).ttl(LONG)).await.unwrap();
    cluster.open_slot(slot, 0, 1);
    // The keys have not gone yet.
    kept.extend(LONG).await.unwrap();
    assert_eq!(released.release().await, Released::Confirmed);
    assert!(matches!(refusal(1).await, AcquireError::Contended(_)));
    is_moving(4).await;

    cluster.move_keys(slot, 0, 1);
    let error = kept.extend(LONG).await.unwrap_err();
    assert!(matches!(error, ExtendError::Unavailable(_)), "{error}");
    assert_eq!(kept.over(), None, "its time runs on");
    is_moving(1).await;
    assert_eq!(dropped.release().await, Released::Unconfirmed);
    assert_eq!(cluster[1].keys().len(), 2, "where nobody asks for them yet");
    assert_eq!(reason(&set), None, "the other slots are served");

    cluster.close_slot(slot, 0, 1).await;
    // The release is sent again until it is served.
    assert!(one.flush(&set, SOON).await.is_empty());
    extend_soon(&kept).await;
    assert!(matches!(refusal(1).await, AcquireError::Contended(_)));
    let again = one.acquire(&set, &once(name(3))).await.unwrap();
    for lease in [kept, again] {
        assert_eq!(lease.release().await, Released::Confirmed);
    }
    cluster.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn several_keys_wait_out_the_move_and_are_released() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    let tag = cluster.name_at(0, "account");
    let slot = cluster.slot_of(&tag);
    let [one, two] = [1, 2].map(|n| format!("{{{tag}}}:{n}"));
    let both = || kept([&one, &two]);
    let lease = client().acquire(&set, &both()).await.unwrap();

    cluster.open_slot(slot, 0, 1);
    // One of them has gone and one has not: no server can look at both.
    let port = cluster[1].port().to_string();
    cluster[0].command(["MIGRATE", "127.0.0.1", &port, &one, "0", "5000"]);
    let error = client().acquire(&set, &both()).await.unwrap_err();
    assert!(error.to_string().contains("TRYAGAIN"), "{error}");
    assert!(matches!(error, AcquireError::Unavailable(_)), "{error}");
    assert_eq!(lease.release().await, Released::Unconfirmed);

    // It is sent again until it is served.
    cluster.move_keys(slot, 0, 1);
    cluster.close_slot(slot, 0, 1).await;
    cluster.assert_no_lock_keys(SOON).await;
    let lease = client().acquire(&set, &both()).await.unwrap();
    assert_eq!(lease.release().await, Released::Confirmed);
}

#[tokio::test]
async fn readers_writers_and_permits_wait_out_the_move_of_a_slot() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    let tag = cluster.name_at(0, "account");
    let slot = cluster.slot_of(&tag);
    let with = |kind, name: &str| kept(format!("{{{tag}}}:{name}")).kind(kind);
    let permits = Kind::Permits(3);
    let leaves = client()
        .acquire(&set, &with(Kind::Read, "r"))
        .await
        .unwrap();
    let stays = client()
        .acquire(&set, &with(Kind::Read, "r"))
        .await
        .unwrap();
    let permit = client().acquire(&set, &with(permits, "p")).await.unwrap();

    cluster.open_slot(slot, 0, 1);
    // Some of their keys are not there, so that no server can look at all.
    for (kind, name) in [(Kind::Read, "r"), (Kind::Write, "w"), (permits, "p")] {
        let error = client().acquire(&set, &with(kind, name)).await.unwrap_err();
        assert!(
            matches!(error, AcquireError::Unavailable(_)),
            "{kind}: {error}"
        );
        let text = error.to_string();
        let is_moving = text.contains("TRYAGAIN") || text.contains("ASK ");
        assert!(is_moving, "{kind}: {error}");
    }
    permit.extend(LONG).await.unwrap();
    let error = stays.extend(LONG).await.unwrap_err();
    assert!(matches!(error, ExtendError::Unavailable(_)), "{error}");
    assert_eq!(stays.over(), None, "its time runs on");
    // A reader's release has two keys, which are in one place.
    assert_eq!(leaves.release().await, Released::Confirmed);

    cluster.move_keys(slot, 0, 1);
    cluster.close_slot(slot, 0, 1).await;
    for lease in [&stays, &permit] {
        extend_soon(lease).await;
    }
    let refused = client()
        .acquire(&set, &with(Kind::Write, "r"))
        .await
        .unwrap_err();
    assert!(matches!(refused, AcquireError::Contended(_)), "{refused}");
    for lease in [stays, permit] {
        assert_eq!(lease.release().await, Released::Confirmed);
    }
    cluster.assert_no_lock_keys(SOON).await;
    let writer = client()
        .acquire(&set, &with(Kind::Write, "r"))
        .await
        .unwrap();
    assert_eq!(writer.release().await, Released::Confirmed);
}

#[tokio::test]
async fn calls_that_are_dropped_while_their_slot_moves_leave_no_key() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    let tag = cluster.name_at(0, "account");
    let slot = cluster.slot_of(&tag);
    let is_over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..16)
        .map(|n| {
            let (set, is_over) = (set.clone(), Arc::clone(&is_over));
            let request = kept(format!("{{{tag}}}:{n}"));
            let client = client();
            tokio::spawn(async move {
                for polls in (1..4).cycle() {
                    if is_over.load(Ordering::Relaxed) {
                        break;
                    }
                    // The acquisition is out when the caller goes away, and then the release.
                    let call = async { client.acquire(&set, &request).await.map(drop) };
                    redlock_tests::drop_after(polls, call).await;
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for round in 0..20 {
        let (from, to) = if round % 2 == 0 { (0, 1) } else { (1, 0) };
        cluster.open_slot(slot, from, to);
        cluster.move_keys(slot, from, to);
        cluster.close_slot(slot, from, to).await;
    }
    is_over.store(true, Ordering::Relaxed);
    for caller in callers {
        caller.await.unwrap();
    }
    assert!(client().flush(&set, SOON).await.is_empty());
    cluster.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_master_without_slots_is_found_when_it_is_given_its_first() {
    let cluster = RedisCluster::start(1).await;
    cluster.make_master(3).await;
    let set = connect(&cluster).await;
    let name = cluster.name_at(0, "account");
    let slot = cluster.slot_of(&name);
    let lease = client().acquire(&set, &kept(&name)).await.unwrap();
    cluster.open_slot(slot, 0, 3);
    cluster.move_keys(slot, 0, 3);
    cluster.close_slot(slot, 0, 3).await;
    extend_soon(&lease).await;
    assert_eq!(lease.release().await, Released::Confirmed);
    cluster.assert_no_lock_keys(SOON).await;
}

/// Servers of one Cluster may call a master by its address or by its host's name.
#[tokio::test]
async fn a_master_that_is_called_by_another_name_keeps_its_connection() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    let name = cluster.name_at(0, "account");
    let lease = client().acquire(&set, &kept(&name)).await.unwrap();
    let connections = set[0].health().connections;
    for server in cluster.servers() {
        server.command(["CONFIG", "SET", "cluster-announce-hostname", "localhost"]);
    }
    for server in cluster.servers() {
        let preferred = "cluster-preferred-endpoint-type";
        server.command(["CONFIG", "SET", preferred, "hostname"]);
        let slots = || format!("{:?}", server.command(["CLUSTER", "SLOTS"]));
        let are_all = |slots: &String| slots.matches("localhost").count() == 3;
        wait_until("the names of all hosts", slots, are_all).await;
    }
    let slot = cluster.slot_of(&name);
    let asked = || {
        let servers = cluster.servers().iter();
        let count = |server: &redlock_tests::RedisNode| server.info("cmdstat_cluster|slots");
        servers.map(count).collect::<Vec<_>>()
    };
    for (from, to) in [(0, 1), (1, 0)] {
        cluster.open_slot(slot, from, to);
        cluster.move_keys(slot, from, to);
        cluster.close_slot(slot, from, to).await;
        let before = asked();
        // It is sent away, so the map is learned.
        extend_soon(&lease).await;
        wait_until("the map to be learned", asked, |now| *now != before).await;
    }
    assert_eq!(set[0].health().connections, connections);
    assert_eq!(lease.release().await, Released::Confirmed);
    cluster.assert_no_lock_keys(SOON).await;
}
