//! Several names in one lock, on real servers: all or none, also if the names of two locks overlap.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use redis::{Client as RedisClient, Connection};
use redlock_core::error::{AcquireError, Contended};
use redlock_core::lease::Released;
use redlock_core::node::Remaining;
use redlock_core::request::RetryLimit;
use redlock_core::{Client, Lease, NodeSet, Request, Resource, Settings};
use redlock_simulation::random::Random;
use redlock_tests::{Nodes, RedisNode};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::core::fixture::{IO, SOON, client, connect, once, settle, start};

/// What a server does to keys, as it tells it to a subscriber.
struct Changes(Connection);

impl Changes {
    fn watch(node: &RedisNode) -> Self {
        node.command(["CONFIG", "SET", "notify-keyspace-events", "KA"]);
        let client = RedisClient::open(node.url()).expect("the harness makes good URLs");
        let mut connection = client.get_connection().expect("it runs");
        connection.set_read_timeout(Some(SOON)).expect("a timeout");
        let all = redis::cmd("PSUBSCRIBE").arg("__keyspace@0__:*").to_owned();
        all.exec(&mut connection).expect("it obeys");
        Self(connection)
    }

    /// The changes of keys whose names contain `part`, up to now.
    fn of(&mut self, node: &RedisNode, part: &str) -> Vec<String> {
        node.set("redlock:end", "", None);
        node.del("redlock:end");
        let mut changes = Vec::new();
        loop {
            let message = self.0.recv_response().expect("the end is told");
            let message: Vec<String> = redis::from_redis_value(message).expect("words");
            let [_kind, _pattern, key, event] = &message[..] else {
                panic!("{message:?}");
            };
            match &**event {
                "del" if key.ends_with("redlock:end") => return changes,
                _ if key.contains(part) => changes.push(format!("{event} {key}")),
                _ => {}
            }
        }
    }
}

fn contended(refused: Result<Lease, AcquireError>) -> Contended {
    match refused.map(drop) {
        Err(AcquireError::Contended(contended)) => contended,
        other => panic!("{other:?}"),
    }
}

/// A free name is the first one, one in the middle and the last one, in the order in which a server
/// looks at them.
const OVERLAPPING: [&[&str]; 4] = [
    &["1-free", "2-held"],
    &["2-held", "3-free"],
    &["1-free", "2-held", "3-free", "4-held", "5-free"],
    &["4-held", "5-free"],
];

#[tokio::test]
async fn a_refused_set_writes_nothing_to_its_free_names_on_any_node() {
    let (nodes, set) = start(3).await;
    let holding = client();
    let lease = holding.acquire(&set, &once(["2-held", "4-held"])).await;
    let lease = lease.unwrap();
    settle(&set).await;
    let mut watched: Vec<_> = nodes.iter().map(Changes::watch).collect();

    for fencing in [false, true] {
        for names in OVERLAPPING {
            let mut wanted = once(Resource::all(names));
            wanted.fencing = fencing;
            wanted = wanted.retries(2);
            wanted.retry.delay = Duration::from_millis(1);
            let refused = contended(client().acquire(&set, &wanted).await);
            assert_eq!(refused.attempts, 3, "{refused}");
        }
    }
    settle(&set).await;
    for (node, changes) in nodes.iter().zip(&mut watched) {
        assert_eq!(changes.of(node, "free"), [""; 0]);
        let held = ["2-held", "4-held"].map(|key| node.get(key).is_some());
        assert_eq!(held, [true, true]);
    }

    // What is watched is what would have been written.
    assert_eq!(lease.release().await, Released::Confirmed);
    let granted = client().acquire(&set, &once(OVERLAPPING[2])).await.unwrap();
    settle(&set).await;
    for (node, changes) in nodes.iter().zip(&mut watched) {
        let free = changes.of(node, "free");
        assert!(free.iter().any(|it| it.starts_with("set ")), "{free:?}");
    }
    granted.release().await;
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn the_refusal_of_a_set_names_the_name_that_is_held_its_holder_and_its_time() {
    let (nodes, set) = start(3).await;
    let minute = Duration::from_secs(60);
    // With a key prefix, the key is not the name.
    let settings = Settings::default().node_timeout(SOON).key_prefix(*b"shop:");
    let client = || Client::with_settings(IO.environment(), settings.clone());
    let holding = client();
    let lease = holding.acquire(&set, &once("b").ttl(minute)).await.unwrap();
    settle(&set).await;
    let refused = contended(client().acquire(&set, &once(["a", "b", "c"])).await);
    assert_eq!(refused.name, Some(Resource::from("b")));
    let Remaining::Expires(left) = refused.holding.remaining else {
        panic!("{refused}");
    };
    assert!(left <= minute && left > minute / 2, "{left:?}");
    let owner = refused.holding.owner().expect("it is a lock").to_owned();
    let text = refused.to_string();
    assert!(text.contains(&format!("{owner} (name `b`) for ")), "{text}");
    let refused = contended(client().acquire(&set, &once("b")).await);
    assert_eq!(refused.name, None, "there is no other");
    lease.release().await;

    nodes.assert_no_lock_keys(SOON).await;
    for node in &nodes {
        node.command(["LPUSH", "shop:b", "x"]);
    }
    let refused = contended(client().acquire(&set, &once(["a", "b"])).await);
    assert_eq!(refused.holding.remaining, Remaining::NotALock);
    for node in &nodes {
        node.del("shop:b");
        node.set("shop:b", "left over", None);
    }
    let refused = contended(client().acquire(&set, &once(["a", "b"])).await);
    assert_eq!(refused.holding.remaining, Remaining::Never);
    assert_eq!(refused.name, Some(Resource::from("b")));
}

const CLIENTS: u64 = 4;
const CALLERS: u64 = 4;
const PAIRS: usize = 10_000;
const NAMES: usize = 12;

/// The names that are held, as their holders know it.
#[derive(Default)]
struct Held {
    names: [AtomicBool; NAMES],
    /// How many pairs were begun.
    begun: AtomicUsize,
}

impl Held {
    /// Locks pairs until all are done. Returns how many were this caller's.
    async fn lock_pairs(&self, client: &Client, set: &NodeSet, seed: u64) -> usize {
        let mut random = Random::new(seed);
        let mut done = 0;
        while self.begun.fetch_add(1, Ordering::Relaxed) < PAIRS {
            let first = random.index(NAMES);
            let second = (first + 1 + random.index(NAMES - 1)) % NAMES;
            let mut request = Request::new([first, second].map(|name| format!("name:{name}")));
            request.retry.limit = RetryLimit::Forever;
            request.retry.delay = Duration::from_millis(4);
            let lease = client.acquire(set, &request).await.expect("it waits");
            let pair = [first, second].map(|name| &self.names[name]);
            for name in pair {
                assert!(
                    !name.swap(true, Ordering::SeqCst),
                    "two hold it: {request:?}"
                );
            }
            tokio::task::yield_now().await;
            for name in pair {
                name.store(false, Ordering::SeqCst);
            }
            let released = lease.release().await;
            assert!(
                matches!(released, Released::Confirmed | Released::HandedOver),
                "{released:?}"
            );
            done += 1;
        }
        done
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_random_pairs_that_overlap_are_all_locked_and_released() {
    let nodes = Nodes::start(3).await;
    let held = Arc::new(Held::default());
    let mut callers = JoinSet::new();
    for seed in 0..CLIENTS {
        // Lines and connections of its own, as another process has them.
        let (client, set) = (client(), connect(nodes.urls()).await);
        for caller in 0..CALLERS {
            let (held, client, set) = (Arc::clone(&held), client.clone(), set.clone());
            let seed = seed * CALLERS + caller;
            callers.spawn(async move { held.lock_pairs(&client, &set, seed).await });
        }
    }
    // Callers that wait for each other wait for ever.
    let done = timeout(SOON * 15, callers.join_all()).await;
    let done = done.expect("nobody waits for somebody who waits for it");
    assert_eq!(done.iter().sum::<usize>(), PAIRS, "{done:?}");
    assert!(done.iter().all(|pairs| *pairs > 0), "{done:?}");
    nodes.assert_no_lock_keys(SOON).await;
}
