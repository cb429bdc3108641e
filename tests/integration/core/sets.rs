//! Several names in one lock, on real servers, also if the names of two locks overlap.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use redlock_core::error::{AcquireError, Contended};
use redlock_core::lease::Released;
use redlock_core::node::Remaining;
use redlock_core::request::RetryLimit;
use redlock_core::{Client, Lease, NodeSet, Request, Resource, Settings};
use redlock_simulation::random::Random;
use redlock_tests::Nodes;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::core::fixture::{IO, SOON, client, connect, once, settle, start};

fn contended(refused: Result<Lease, AcquireError>) -> Contended {
    match refused.map(drop) {
        Err(AcquireError::Contended(contended)) => contended,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn the_refusal_of_a_set_says_which_name_is_held_and_by_whom() {
    let (_nodes, set) = start(3).await;
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
            let request = Request::new([first, second].map(|name| format!("name:{name}")))
                .retry_limit(RetryLimit::Forever)
                .retry_delay(Duration::from_millis(4));
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
async fn ten_thousand_random_pairs_that_overlap_are_all_locked() {
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
