//! Clients that are not run here: what they write, written to a real server as they do it, beside ours.
//!
//! Read in the sources of Redisson 3, Symfony Lock 4 and 5.4, `ShedLock` 4, suo, rueidislock and RedLock.net.
//! Where such a client runs several commands in one script, they are sent one by one: no other caller is
//! there.

use redlock_core::node::Remaining;
use redlock_core::request::Kind;
use redlock_core::{Lease, error::ExtendError};
use redlock_tests::{Nodes, Pttl, redis};

use crate::ours::{Ours, TTL, kinds};

const KEY: &str = "order:1";

async fn scene(prefix: &str) -> (Nodes, Ours) {
    let nodes = Nodes::start(1).await;
    let ours = Ours::on(&nodes, prefix).await;
    (nodes, ours)
}

/// `SET key value NX PX ttl` by another client. True if it has the lock.
fn set_nx(nodes: &Nodes, key: &str, value: &str) -> bool {
    let set = ["SET", key, value, "NX", "PX", "60000"];
    nodes[0].command(set) != redis::Value::Nil
}

fn exists(nodes: &Nodes, key: &str) -> bool {
    nodes[0].command(["EXISTS", key]) == redis::Value::Int(1)
}

/// The holder of `lease` finds that it has lost the lock, once it asks.
async fn assert_lost(lease: Lease) {
    let extended = lease.extend(TTL).await;
    assert!(
        matches!(extended, Err(ExtendError::Ended(_))),
        "{extended:?}"
    );
}

/// Ours of every kind is refused, because the key is `remaining`.
async fn assert_refused(ours: &Ours, remaining: Remaining, words: &str) {
    for kind in kinds() {
        let refused = ours.refused(KEY, kind).await;
        assert_eq!(refused.holding.remaining, remaining, "{kind:?}");
        assert_eq!(refused.holding.owner(), None);
        let text = refused.to_string();
        assert!(text.contains(words), "{kind:?}: {text}");
    }
}

#[tokio::test]
async fn redisson_throws_over_our_key_and_its_hash_refuses_ours() {
    let (nodes, ours) = scene("").await;
    for kind in kinds() {
        let lease = ours.acquired(KEY, kind).await;
        let before = nodes.values_of(KEY);
        assert!(exists(&nodes, KEY), "so it asks whether it is the holder");
        let asks = ["HEXISTS", KEY, "d0e1:1"];
        let thrown = nodes[0].try_command::<i64>(asks).unwrap_err();
        assert!(thrown.to_string().contains("WRONGTYPE"), "{thrown}");
        // An unlock asks the same, and throws too.
        assert_eq!(nodes.values_of(KEY), before);
        lease.extend(TTL).await.expect("it is ours");
        lease.release().await;
    }
    nodes[0].command(["HINCRBY", KEY, "d0e1:1", "1"]);
    nodes[0].command(["PEXPIRE", KEY, "30000"]);
    assert_refused(&ours, Remaining::NotALock, "not a string").await;
    nodes[0].del(KEY);
    ours.acquired(KEY, Kind::Plain).await.release().await;
}

#[tokio::test]
async fn symfony_sees_our_string_and_ours_sees_its_sorted_set() {
    let (nodes, ours) = scene("").await;
    for kind in kinds() {
        let lease = ours.acquired(KEY, kind).await;
        let of_type = nodes[0].try_command::<String>(["TYPE", KEY]);
        // It refuses a string, as an older version's lock.
        assert_eq!(of_type.unwrap(), "string", "{kind:?}");
        lease.release().await;
    }
    let end = (nodes[0].time() + TTL).as_millis().to_string();
    for member in ["c2FtZQ==", "__write__"] {
        nodes[0].command(["ZADD", KEY, &end, member]);
    }
    nodes[0].command(["PEXPIREAT", KEY, &end]);
    assert_refused(&ours, Remaining::NotALock, "not a string").await;
    // Its release takes the members away, and the key with the last one.
    nodes[0].command(["ZREM", KEY, "c2FtZQ==", "__write__"]);
    ours.acquired(KEY, Kind::Plain).await.release().await;
}

#[tokio::test]
async fn symfony_before_5_2_is_a_plain_lock() {
    let (nodes, ours) = scene("").await;
    let lease = ours.acquired(KEY, Kind::Plain).await;
    assert!(!set_nx(&nodes, KEY, "c2FtZQ=="));
    lease.release().await;
    assert!(set_nx(&nodes, KEY, "c2FtZQ=="));
    ours.refused(KEY, Kind::Plain).await;
}

/// Its key and ours.
const OF_SHEDLOCK: (&str, &str) = ("job-lock:default:order:1", "job-lock:default:");

#[tokio::test]
async fn shedlock_is_refused_and_refuses_until_it_unlocks_late() {
    let (key, prefix) = OF_SHEDLOCK;
    let (nodes, ours) = scene(prefix).await;
    let other = Ours::on(&nodes, prefix).await;
    assert!(set_nx(&nodes, key, "ADDED:2026-11-23T03:00:00Z@web-7"));
    ours.refused(KEY, Kind::Plain).await;
    // Its lock expires while it works, and ours is next.
    nodes[0].del(key);
    let lease = ours.acquired(KEY, Kind::Plain).await;
    assert!(!set_nx(&nodes, key, "ADDED:2026-11-23T03:01:00Z@web-8"));
    // The first one unlocks now.
    nodes[0].command(["DEL", key]);
    let second = other.acquired(KEY, Kind::Plain).await;
    assert!(
        lease.over().is_none() && second.over().is_none(),
        "two holders"
    );
    assert_lost(lease).await;
}

#[tokio::test]
async fn shedlock_with_a_least_time_overwrites_our_key() {
    let (key, prefix) = OF_SHEDLOCK;
    let (nodes, ours) = scene(prefix).await;
    let lease = ours.acquired(KEY, Kind::Plain).await;
    // An unlock before `lockAtLeastFor` is over, and an extension, change the key whichever client has it.
    let value = "ADDED:2026-11-23T03:00:00Z@web-7";
    nodes[0].command(["SET", key, value, "XX", "PX", "5000"]);
    assert_eq!(nodes.values_of(key), [Some(value.into())]);
    assert_lost(lease).await;
    ours.refused(KEY, Kind::Plain).await;
}

#[tokio::test]
async fn suo_overwrites_our_key_and_its_own_key_never_expires() {
    let (nodes, ours) = scene("").await;
    let lease = ours.acquired(KEY, Kind::Plain).await;
    // It reads a list of holders out of the value, finds none in ours, and writes its own.
    let value = nodes[0].get(KEY).expect("it is held");
    assert!(
        value.first().is_some_and(u8::is_ascii_alphanumeric),
        "no MessagePack list"
    );
    nodes[0].command(["SET", KEY, "a list with its token"]);
    assert_eq!(nodes[0].pttl(KEY), Pttl::NoExpiry);
    assert_lost(lease).await;
    assert_refused(&ours, Remaining::Never, "never expires").await;
    // Its release leaves an empty list for a minute.
    nodes[0].command(["SETEX", KEY, "60", "an empty list"]);
    ours.refused(KEY, Kind::Plain).await;
}

#[tokio::test]
async fn rueidislock_has_other_keys_and_excludes_nobody() {
    let (nodes, ours) = scene("").await;
    let lease = ours.acquired(KEY, Kind::Plain).await;
    // Two of three keys on the same server are its majority.
    for number in 0..3 {
        let key = format!("rueidislock:{number}:{KEY}");
        assert!(set_nx(&nodes, &key, "24 random bytes"));
    }
    lease.extend(TTL).await.expect("it is ours");
    // No prefix helps: it is refused one key of three, and goes on with two.
    let beside = Ours::on(&nodes, "rueidislock:0:").await;
    beside.refused(KEY, Kind::Plain).await;
    nodes
        .iter()
        .for_each(|node| assert!(node.del(format!("rueidislock:0:{KEY}"))));
    let lease = beside.acquired(KEY, Kind::Plain).await;
    assert!(!set_nx(
        &nodes,
        &format!("rueidislock:0:{KEY}"),
        "24 random bytes"
    ));
    lease
        .extend(TTL)
        .await
        .expect("it is ours, and two keys of three are theirs");
}

/// RedLock.net's extension: a missing key is set, its own is prolonged, another's is refused.
fn redlock_net_extends(nodes: &Nodes, key: &str, value: &str) -> bool {
    match nodes[0].get(key) {
        None => nodes[0].command(["SET", key, value, "PX", "60000"]) == redis::Value::Okay,
        Some(found) if found == value.as_bytes() => {
            nodes[0].command(["PEXPIRE", key, "60000"]) == redis::Value::Int(1)
        }
        Some(_) => false,
    }
}

#[tokio::test]
async fn redlock_net_excludes_and_makes_a_lost_lock_anew() {
    let (nodes, ours) = scene("redlock:").await;
    let (key, value) = ("redlock:order:1", "3f2504e0-4f89-11d3-9a0c-0305e82c3301");
    for kind in kinds() {
        let lease = ours.acquired(KEY, kind).await;
        assert!(!set_nx(&nodes, key, value));
        assert!(
            !redlock_net_extends(&nodes, key, value),
            "beside our {kind:?}"
        );
        lease.extend(TTL).await.expect("it is ours");
        lease.release().await;
        assert!(set_nx(&nodes, key, value));
        ours.refused(KEY, kind).await;
        // Its lock is lost, ours is held and released, and it does not notice.
        nodes[0].del(key);
        ours.acquired(KEY, kind).await.release().await;
        assert!(redlock_net_extends(&nodes, key, value));
        ours.refused(KEY, kind).await;
        nodes[0].del(key);
    }
}
