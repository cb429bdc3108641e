//! What is so beside one client only.

use redlock_core::Request;
use redlock_core::error::AcquireError;
use redlock_core::request::Kind;
use redlock_tests::{Nodes, RedisNode};

use crate::each::{everywhere, nowhere};
use crate::neighbours::Neighbour;
use crate::ours::{Ours, TTL};

/// An extension by aioredlock takes a key that is missing for its own: it does not notice that it lost the
/// lock, nor that another client had it meanwhile.
#[tokio::test]
async fn aioredlock_makes_a_lost_lock_anew() {
    let nodes = Nodes::start(1).await;
    let ours = Ours::on(&nodes, "").await;
    let mut theirs = Neighbour::Aioredlock.start(&nodes.urls());
    assert!(theirs.ask("try order:1 60000").is_ok());
    nodes[0].del("order:1");
    ours.acquired("order:1", Kind::Plain).await.release().await;
    nowhere(&nodes, "order:1").await;
    assert!(theirs.ask("extend 60000").is_ok());
    ours.refused("order:1", Kind::Plain).await;
}

/// The fork selects the database of its own setting, 0 by default, and not that of the connection.
#[tokio::test]
async fn sesamecare_ignores_the_database_of_its_connection() {
    let nodes = Nodes::start(1).await;
    let ours = Ours::on(&nodes, "").await;
    let mut theirs = Neighbour::Sesamecare.start(&[format!("{}/1", nodes[0].url())]);
    assert!(theirs.ask("try order:1 60000").is_ok());
    assert!(nodes[0].get("order:1").is_some(), "database 0");
    ours.refused("order:1", Kind::Plain).await;
    let mut other = Neighbour::NodeRedlock.start(&[format!("{}/1", nodes[0].url())]);
    assert!(other.ask("try order:1 60000").is_ok(), "database 1");
}

/// `key_prefix = "redlock:"` meets pottery's keys. The names of this library's own keys stay reserved, and
/// fencing, permits, readers and writers work.
#[tokio::test]
async fn the_prefix_of_pottery_is_no_reserved_name() {
    let nodes = Nodes::start(3).await;
    let ours = Ours::on(&nodes, "redlock:").await;
    let mut theirs = Neighbour::Pottery.start(&nodes.urls());
    for name in [
        "marker",
        "fence:{order}",
        "readers:{order}",
        "permit:1:{order}",
    ] {
        let refused = ours.attempt(name, Kind::Plain).await;
        assert!(matches!(refused, Err(AcquireError::Invalid(_))), "{name}");
    }
    let request = Request::new("order:1")
        .ttl(TTL)
        .retry_limit(0)
        .fencing(true);
    let mut last = None;
    for _ in 0..3 {
        let lease = ours
            .client
            .acquire(&ours.nodes, &request)
            .await
            .expect("it is free");
        assert!(!theirs.ask("try order:1 60000").is_ok());
        assert!(lease.fencing_token() > last, "the numbers rise");
        last = lease.fencing_token();
        lease.release().await;
        nowhere(&nodes, "redlock:order:1").await;
        assert!(theirs.ask("try order:1 60000").is_ok());
        everywhere(&nodes, "redlock:order:1").await;
        ours.refused("order:1", Kind::Plain).await;
        assert!(theirs.ask("release").is_ok());
        nowhere(&nodes, "redlock:order:1").await;
    }
    let own = nodes.all_keys();
    assert!(own.contains(&b"redlock:redlock:fence:{redlock:order:1}".to_vec()));
    let begins = |key: &Vec<u8>| key.starts_with(b"redlock:redlock:");
    assert!(own.iter().all(begins), "{own:?}");
}

/// A release by python-redis-lock leaves its list of signals behind. It is no lock, and in nobody's way.
#[tokio::test]
async fn the_signal_of_python_redis_lock_is_in_nobodys_way() {
    let nodes = Nodes::start(1).await;
    let ours = Ours::on(&nodes, "lock:").await;
    let mut theirs = Neighbour::PythonRedisLock.start(&nodes.urls());
    assert!(theirs.ask("try order:1 60000").is_ok());
    assert!(theirs.ask("release").is_ok());
    let is_there = |node: &RedisNode| node.keys().contains(&b"lock-signal:order:1".to_vec());
    assert!(is_there(&nodes[0]));
    ours.acquired("order:1", Kind::Plain).await.release().await;
}
