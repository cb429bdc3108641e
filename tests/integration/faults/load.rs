//! Many at once, and much in a row.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::error::LeaseEnd;
use redlock_core::lease::Released;
use redlock_core::{Client, Lease, Request, Resource};
use redlock_tests::RedisNode;
use tokio::sync::oneshot;

use crate::core::fixture::{client, once, start};
use crate::faults::scene::until_served;

const RACES: usize = 10_000;
/// Several pairs side by side, so that the threads do get in each other's way.
const RACERS: usize = 4;

/// Releases a lease while another task extends it again and again. So every order comes up, also the
/// one in which an extension finds the lease in order and reaches the nodes behind the release.
async fn race(lease: Lease, lateness: usize) {
    let handle = lease.handle();
    let (extended, has_extended) = oneshot::channel();
    let extending = tokio::spawn(async move {
        let ttl = Duration::from_secs(120);
        handle.extend(ttl).await.unwrap();
        extended.send(()).unwrap();
        while handle.extend(ttl).await.is_ok() {}
        handle.over()
    });
    has_extended.await.unwrap();
    for _ in 0..lateness {
        std::hint::spin_loop();
    }
    lease.release().await;
    assert_eq!(extending.await.unwrap(), Some(LeaseEnd::Released));
}

async fn ten_thousand_races_of_extension_and_release_leave_no_key(n: usize) {
    let (nodes, set) = start(n).await;
    let racers: Vec<_> = (0..RACERS)
        .map(|racer| {
            let set = set.clone();
            tokio::spawn(async move {
                let (client, request) = (client(), once(format!("r{racer}")));
                for round in 0..RACES / RACERS {
                    // The release comes at any time of an extension, not always at the same one.
                    let lease = client.acquire(&set, &request).await.unwrap();
                    race(lease, round * 31 % 4096).await;
                }
            })
        })
        .collect();
    for racer in racers {
        racer.await.unwrap();
    }
    until_served(&set).await;
    nodes.assert_no_keys(Duration::ZERO).await;
}

/// Every script at once: several names are acquired by one, too.
async fn work(client: &Client, set: &redlock_core::NodeSet, worker: usize) {
    let mut request = Request::new("").retry_limit(0);
    request.resource = Resource::all([format!("a{worker}"), format!("b{worker}")]);
    let mut served = 0;
    while served < 50 {
        // What takes or keeps a lock is not sent again.
        let Ok(lease) = client.acquire(set, &request).await else {
            continue;
        };
        let _ = lease.extend(Duration::from_secs(120)).await;
        assert_eq!(lease.release().await, Released::Confirmed);
        served += 1;
    }
}

async fn releases_are_served_while_scripts_are_forgotten_under_load(n: usize) {
    let (nodes, set) = start(n).await;
    // Once for certain, and then again and again.
    nodes.iter().for_each(RedisNode::script_flush);
    let nodes = Arc::new(nodes);
    // Until this test is over, however it ends.
    let forgotten = Arc::downgrade(&nodes);
    let forgetting = std::thread::spawn(move || {
        while let Some(nodes) = forgotten.upgrade() {
            nodes.iter().for_each(RedisNode::script_flush);
        }
    });
    let workers: Vec<_> = (0..8)
        .map(|worker| {
            let set = set.clone();
            tokio::spawn(async move { work(&client(), &set, worker).await })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    for node in nodes.iter() {
        let errors = node.info("errorstat_NOSCRIPT");
        assert!(errors.is_some(), "{node} never had to be told again");
    }
    // A script that is sent again may come behind what was asked meanwhile: ask twice.
    until_served(&set).await;
    until_served(&set).await;
    nodes.assert_no_keys(Duration::ZERO).await;
    drop(nodes);
    forgetting.join().unwrap();
}

with_three_and_five_nodes! {
    ten_thousand_races_of_extension_and_release_leave_no_key,
    releases_are_served_while_scripts_are_forgotten_under_load,
}
