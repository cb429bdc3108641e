//! Locks in every part of a Cluster that is well.

use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::request::Kind;
use redlock_tests::RedisCluster;

use crate::cluster::fixture::{SOON, client, connect, connect_with, once, reason};
use crate::core::fixture::calm;
use crate::core::kinds::each_kind_excludes_and_is_released;

#[tokio::test]
async fn a_lock_of_any_slot_excludes_extends_and_goes() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    assert_eq!(reason(&set), None);
    let (one, other) = (client(), client());
    for n in 0..300 {
        let name = format!("order:{n}");
        let lease = one.acquire(&set, &once(&name)).await.unwrap();
        if n % 10 == 0 {
            let refused = other.acquire(&set, &once(&name)).await.unwrap_err();
            assert!(matches!(refused, AcquireError::Contended(_)), "{refused}");
            lease.extend(Duration::from_secs(90)).await.unwrap();
        }
        assert_eq!(lease.release().await, Released::Confirmed);
    }
    cluster.assert_no_lock_keys(SOON).await;
    assert_eq!(
        set[0].health().connections,
        3,
        "each master took a part of them"
    );
    assert!(one.flush(&set, SOON).await.is_empty());
}

#[tokio::test]
async fn each_kind_of_lock_excludes_and_is_released_in_every_part() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    for master in 0..3 {
        // All keys of a lock are in its slot.
        let base = format!("{{{}}}", cluster.name_at(master, "shop"));
        each_kind_excludes_and_is_released(&set, &base).await;
    }
    cluster.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_name_whose_braces_part_the_keys_of_a_lock_is_refused() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    let stray = || once("a}b");
    let fenced = stray().fencing(true);
    let job = stray().once_per(Duration::from_secs(3600));
    for (request, parameter) in [
        (fenced, "fencing"),
        (job, "`once_per`"),
        (stray().kind(Kind::Permits(2)), "`permits`"),
        (stray().kind(Kind::Read), "`kind`"),
    ] {
        let refused = client().acquire(&set, &request).await.unwrap_err();
        let text = refused.to_string();
        assert!(matches!(refused, AcquireError::Invalid(_)), "{text}");
        assert!(text.contains(parameter), "{text}");
    }
    drop(client().acquire(&set, &stray()).await.unwrap());
}

#[tokio::test]
async fn a_run_is_remembered_beside_its_lock_in_every_part() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    let hour = Duration::from_secs(3600);
    let job = |name: &str| once(name).once_per(hour);
    for master in 0..3 {
        let name = cluster.name_at(master, "job");
        let mut lease = client().acquire(&set, &job(&name)).await.unwrap();
        lease.remember_run();
        lease.release().await;
        let refused = client().acquire(&set, &job(&name)).await.unwrap_err();
        assert!(matches!(refused, AcquireError::AlreadyRun(_)), "{refused}");
        let keys = cluster[master].keys();
        let is_record = |key: &Vec<u8>| key.starts_with(b"redlock:once:");
        assert!(keys.iter().any(is_record), "beside its lock: {keys:?}");
    }
    cluster.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn several_keys_in_two_slots_are_refused_with_the_fix() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    let apart = once(["account:1", "account:2"]);
    let refused = client().acquire(&set, &apart).await.unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, AcquireError::Invalid(_)), "{text}");
    for hint in [
        "`account:1`",
        "`account:2`",
        "hash slots",
        "Cluster `a`",
        "{account}:1",
    ] {
        assert!(text.contains(hint), "{hint}: {text}");
    }
}

#[tokio::test]
async fn every_server_is_given_the_password_and_nobody_is_shown_it() {
    let cluster = RedisCluster::start_with(0, Some("s3cret"), &[]).await;
    // One seed is enough to find the others.
    let seed = cluster[1].addr().to_string();
    let set = connect_with(&cluster.url_of(&seed), calm()).await;
    for master in 0..3 {
        let name = cluster.name_at(master, "r");
        drop(client().acquire(&set, &once(&name)).await.unwrap());
    }
    for (url, hint) in [
        (cluster.url().replace("s3cret", "wr0ng"), "WRONGPASS"),
        (format!("redis+cluster://{seed}"), "NOAUTH"),
    ] {
        let set = connect_with(&url, calm()).await;
        let error = client().acquire(&set, &once("r")).await.unwrap_err();
        let text = format!("{error} {:?}", set[0].status());
        assert!(text.contains(hint), "{text}");
        assert!(
            !text.contains("s3cret") && !text.contains("wr0ng"),
            "{text}"
        );
    }
}
