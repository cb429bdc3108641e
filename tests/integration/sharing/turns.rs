//! How many writers a reader waits for, however long a round trip takes, and whether or not nodes tell of releases.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use redlock_core::request::{Kind, RetryLimit};
use redlock_core::{Client, NodeSet, Request};
use redlock_tests::{Nodes, Proxy};
use tokio::task::JoinSet;

use crate::core::fixture::client;
use crate::faults::scene::Network;
use crate::sharing::fixture::TTL;

const WRITERS: usize = 3;
const READS: u32 = 4;

/// Callers with connections of their own, as processes have.
struct Scene {
    nodes: Nodes,
    proxies: Vec<Proxy>,
    /// The writers' leases that began, and those that ended.
    begun: AtomicU32,
    ended: AtomicU32,
    is_over: AtomicBool,
}

fn waits(kind: Kind) -> Request {
    Request::new("r")
        .kind(kind)
        .ttl(TTL)
        .retry_limit(RetryLimit::Forever)
}

impl Scene {
    async fn process(&mut self, each_way: Duration) -> (Client, NodeSet) {
        let (proxies, set) = Network::to(&self.nodes).await;
        for proxy in &proxies {
            proxy.delay(each_way);
        }
        self.proxies.extend(proxies);
        (client(), set)
    }

    async fn write(self: Arc<Self>, (client, set): (Client, NodeSet)) {
        while !self.is_over.load(Ordering::SeqCst) {
            let lease = client.acquire(&set, &waits(Kind::Write)).await.unwrap();
            self.begun.fetch_add(1, Ordering::SeqCst);
            self.ended.fetch_add(1, Ordering::SeqCst);
            lease.release().await;
        }
    }

    /// For each read, the number of writers that held the lock while the reader waited.
    async fn read(self: Arc<Self>, (client, set): (Client, NodeSet)) -> Vec<u32> {
        let mut waited_for = Vec::new();
        for _ in 0..READS {
            let ended = self.ended.load(Ordering::SeqCst);
            let lease = client.acquire(&set, &waits(Kind::Read)).await.unwrap();
            waited_for.push(self.begun.load(Ordering::SeqCst) - ended);
            lease.release().await;
        }
        waited_for
    }
}

/// The numbers of writers for which five callers of one process and one of another waited.
async fn waited_for(round_trip: Duration, has_wakeups: bool) -> Vec<Vec<u32>> {
    let nodes = Nodes::start(3).await;
    for node in nodes.iter().filter(|_| !has_wakeups) {
        node.command(["ACL", "SETUSER", "default", "-client|tracking"]);
    }
    let mut scene = Scene {
        nodes,
        proxies: Vec::new(),
        begun: AtomicU32::new(0),
        ended: AtomicU32::new(0),
        is_over: AtomicBool::new(false),
    };
    let mut processes = Vec::new();
    for _ in 0..WRITERS + 2 {
        processes.push(scene.process(round_trip / 2).await);
    }
    let one = processes[WRITERS].clone();
    processes.extend([one.clone(), one.clone(), one.clone(), one]);
    let readers = processes.split_off(WRITERS);
    let scene = Arc::new(scene);
    let writes = processes.into_iter().map(|it| Arc::clone(&scene).write(it));
    let reads = readers.into_iter().map(|it| Arc::clone(&scene).read(it));
    let (writing, reading): (JoinSet<_>, JoinSet<_>) = (writes.collect(), reads.collect());
    let waited_for = reading.join_all().await;
    scene.is_over.store(true, Ordering::SeqCst);
    writing.join_all().await;
    waited_for
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_waits_for_two_writers_at_most() {
    // One after the other: a reader has its turn for half a second, also on a busy machine.
    let mut scenes = Vec::new();
    for round_trip in [0, 30, 60].map(Duration::from_millis) {
        for has_wakeups in [true, false] {
            let waited_for = waited_for(round_trip, has_wakeups).await;
            scenes.push((round_trip, has_wakeups, waited_for));
        }
    }
    let most = scenes
        .iter()
        .flat_map(|(.., waited_for)| waited_for)
        .flatten()
        .max();
    assert!(
        most <= Some(&2),
        "round trip, wake-ups, writers: {scenes:?}"
    );
}
