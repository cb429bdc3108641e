//! Locks in every part of a Cluster that is well.

use std::time::Duration;

use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::request::RetryLimit;
use redlock_core::{Request, Resource};
use redlock_tests::RedisCluster;
use tokio::time::timeout;

use crate::cluster::fixture::{SOON, client, connect, connect_to, once, reason};

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
async fn fencing_tokens_rise_and_waiters_are_woken_in_every_part() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    let (one, other) = (client(), client());
    for master in 0..3 {
        let name = cluster.name_at(master, "account");
        let request = Request {
            fencing: true,
            ..once(&name)
        };
        let lease = one.acquire(&set, &request).await.unwrap();
        let first = lease.fencing_token().unwrap();
        let counters = cluster[master].keys();
        assert!(
            counters
                .iter()
                .any(|key| key.starts_with(b"redlock:fence:")),
            "beside its lock: {counters:?}"
        );
        // It would look again in an hour.
        let mut patient = Request {
            fencing: true,
            ..once(&name)
        };
        patient.retry.limit = RetryLimit::Forever;
        patient.retry.delay = SOON * 100;
        let waiting = tokio::spawn({
            let (other, set) = (other.clone(), set.clone());
            async move { other.acquire(&set, &patient).await }
        });
        let key_is_watched = async || {
            let tracked = cluster[master].info("tracking_total_keys");
            match tracked.as_deref() {
                Some("0") | None => Err(format!("{tracked:?}")),
                Some(_) => Ok(()),
            }
        };
        redlock_tests::eventually("somebody to wait", SOON, key_is_watched).await;
        lease.release().await;
        let next = timeout(SOON, waiting)
            .await
            .expect("woken")
            .unwrap()
            .unwrap();
        assert!(next.fencing_token().unwrap() > first);
        next.release().await;
    }
    cluster.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_run_is_remembered_beside_its_lock_in_every_part() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    let hour = Duration::from_secs(3600);
    let job = |name: &str| Request {
        once_per: Some(hour),
        ..once(name)
    };
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
    let refused = client().acquire(&set, &job("a}b")).await.unwrap_err();
    let text = refused.to_string();
    assert!(
        text.contains("cannot have `once_per` on the Redis Cluster"),
        "{text}"
    );
    cluster.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn several_keys_are_all_or_none_in_one_slot_and_refused_in_two() {
    let cluster = RedisCluster::start(0).await;
    let set = connect(&cluster).await;
    let (one, other) = (client(), client());

    let together = Resource::all(["{account}:1", "{account}:2"]);
    let lease = one
        .acquire(&set, &Request::new(together).retries(0))
        .await
        .unwrap();
    let refused = other.acquire(&set, &once("{account}:2")).await.unwrap_err();
    assert!(matches!(refused, AcquireError::Contended(_)), "{refused}");
    let overlapping = Resource::all(["{account}:2", "{account}:3"]);
    let refused = other
        .acquire(&set, &Request::new(overlapping).retries(0))
        .await;
    assert!(matches!(refused.unwrap_err(), AcquireError::Contended(_)));
    other
        .acquire(&set, &once("{account}:3"))
        .await
        .unwrap()
        .release()
        .await;
    lease.release().await;

    let apart = Resource::all(["account:1", "account:2"]);
    let refused = one.acquire(&set, &Request::new(apart)).await.unwrap_err();
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
    let request = Request {
        fencing: true,
        ..once("a}b")
    };
    let refused = one.acquire(&set, &request).await.unwrap_err();
    assert!(matches!(refused, AcquireError::Invalid(_)), "{refused}");
    one.acquire(&set, &once("a}b"))
        .await
        .unwrap()
        .release()
        .await;
    cluster.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn every_server_is_given_the_password_and_nobody_is_shown_it() {
    let cluster = RedisCluster::start_with(0, Some("s3cret"), &[]).await;
    // One seed is enough to find the others.
    let seed = cluster[1].addr().to_string();
    let set = connect_to(&cluster.url_of(&seed)).await;
    for master in 0..3 {
        let name = cluster.name_at(master, "r");
        client()
            .acquire(&set, &once(&name))
            .await
            .unwrap()
            .release()
            .await;
    }
    for (url, hint) in [
        (cluster.url().replace("s3cret", "wr0ng"), "WRONGPASS"),
        (format!("redis+cluster://{seed}"), "NOAUTH"),
    ] {
        let set = connect_to(&url).await;
        let error = client().acquire(&set, &once("r")).await.unwrap_err();
        let text = format!("{error} {:?}", set[0].status());
        assert!(text.contains(hint), "{text}");
        assert!(
            !text.contains("s3cret") && !text.contains("wr0ng"),
            "{text}"
        );
    }
}
