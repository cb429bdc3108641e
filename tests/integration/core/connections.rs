//! The connections of a process to its servers, as the page on sizing counts them.

use std::collections::HashSet;
use std::future::Future;
use std::time::Duration;

use redlock_core::request::{Kind, RetryLimit};
use redlock_core::{Client, Lease, NodeSet, Request};
use redlock_tests::redis::{self, Connection, FromRedisValue};
use redlock_tests::{Nodes, RedisCluster, RedisNode, SentinelGroup, wait_until};
use tokio::task::JoinSet;

use crate::cluster::fixture as cluster;
use crate::core::fixture::{SOON, calm, client, connect, once, settle, until_voting};
use crate::core::still_clock::StillClock;
use crate::sentinel::fixture as sentinel;

const AN_HOUR: Duration = Duration::from_secs(60 * 60);

/// The flags of the connection for operations, in `CLIENT LIST`.
const OPERATIONS: &str = "N";
/// The flags of the connection that tells of released locks.
const TRACKING: &str = "t";

/// Sees the connections of a server, on one of its own, which it leaves out.
struct Onlooker {
    connection: Connection,
    /// The connections from before the test's clients.
    others: HashSet<String>,
    /// The number of all connections before.
    accepted: u64,
}

impl Onlooker {
    fn of(node: &RedisNode) -> Self {
        let client = redis::Client::open(node.url()).unwrap();
        let connection = client.get_connection().unwrap();
        let mut onlooker = Self {
            connection,
            others: HashSet::new(),
            accepted: 0,
        };
        onlooker.others = onlooker.list().into_iter().map(|(id, _)| id).collect();
        onlooker.accepted = onlooker.figure("total_connections_received");
        onlooker
    }

    fn of_all<'a>(nodes: impl IntoIterator<Item = &'a RedisNode>) -> Vec<Self> {
        nodes.into_iter().map(Self::of).collect()
    }

    fn ask<T: FromRedisValue>(&mut self, command: &str) -> T {
        let mut words = redis::Cmd::new();
        command.split(' ').for_each(|word| _ = words.arg(word));
        words.query(&mut self.connection).unwrap()
    }

    /// The ids and flags of all connections but those of sentinels, which name themselves.
    fn list(&mut self) -> Vec<(String, String)> {
        let list: String = self.ask("CLIENT LIST");
        let of_clients = list.lines().filter(|line| !line.contains("name=sentinel-"));
        let field = |line: &str, name: &str| {
            let mut fields = line.split(' ').filter_map(|field| field.split_once('='));
            let value = fields.find(|(found, _)| *found == name).unwrap().1;
            value.to_owned()
        };
        let of_clients = of_clients.map(|line| (field(line, "id"), field(line, "flags")));
        of_clients.collect()
    }

    /// The flags of the connections that were made since the beginning, sorted.
    fn seen(&mut self) -> Vec<String> {
        let new = self.list().into_iter();
        let new = new.filter(|(id, _)| !self.others.contains(id));
        let mut flags: Vec<String> = new.map(|(_, flags)| flags).collect();
        flags.sort();
        flags
    }

    /// Sets keys as another client does.
    fn set_all(&mut self, keys: &[String]) {
        for key in keys {
            self.ask::<()>(&format!("SET {key} another PX 3600000"));
        }
    }

    fn figure(&mut self, name: &str) -> u64 {
        let info: String = self.ask("INFO stats");
        let mut fields = info.lines().filter_map(|line| line.split_once(':'));
        let value = fields.find(|(found, _)| *found == name);
        value.unwrap().1.parse().unwrap()
    }
}

fn seen(onlookers: &mut [Onlooker]) -> Vec<Vec<String>> {
    onlookers.iter_mut().map(Onlooker::seen).collect()
}

/// The number of connections that each server has accepted since the beginning.
fn accepted(onlookers: &mut [Onlooker]) -> Vec<u64> {
    let all = onlookers.iter_mut();
    all.map(|it| it.figure("total_connections_received") - it.accepted)
        .collect()
}

/// Waits until each server has just these connections.
async fn until_seen(onlookers: &mut [Onlooker], flags: &[&str]) {
    let are_there = |seen: &Vec<Vec<String>>| seen.iter().all(|seen| seen == flags);
    wait_until("the connections", || seen(onlookers), are_there).await;
}

/// Waits until each server tracks this number of keys.
async fn until_tracked(onlookers: &mut [Onlooker], keys: u64) {
    let mut tracked = || -> Vec<u64> {
        let all = onlookers.iter_mut();
        all.map(|it| it.figure("tracking_total_keys")).collect()
    };
    let are_all = |tracked: &Vec<u64>| tracked.iter().all(|count| *count == keys);
    wait_until("the keys to be tracked", &mut tracked, are_all).await;
}

/// Waits for ever, and by itself asks again in an hour only.
fn waiting(resource: &str) -> Request {
    Request::new(resource)
        .ttl(AN_HOUR)
        .retry_limit(RetryLimit::Forever)
        .retry_delay(AN_HOUR)
}

type Callers = JoinSet<Lease>;

/// Callers in tasks of their own, one for each resource.
fn call<R: AsRef<str>>(
    client: &Client,
    set: &NodeSet,
    resources: impl IntoIterator<Item = R>,
) -> Callers {
    let one = |resource: R| {
        let (client, set) = (client.clone(), set.clone());
        let request = waiting(resource.as_ref());
        async move { client.acquire(&set, &request).await.unwrap() }
    };
    resources.into_iter().map(one).collect()
}

async fn soon<F: Future>(future: F) -> F::Output {
    let done = tokio::time::timeout(SOON, future).await;
    done.expect("it takes milliseconds")
}

/// Runs `work` on a thread and a runtime of its own.
fn elsewhere<T: Send + 'static>(work: impl Future<Output = T> + Send + 'static) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let thread = std::thread::spawn(move || runtime.block_on(work));
    thread.join().unwrap()
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix}{n}")).collect()
}

#[tokio::test]
async fn one_for_operations_of_all_locks_tasks_and_threads() {
    let nodes = Nodes::start(3).await;
    let mut onlookers = Onlooker::of_all(&nodes);
    let set = connect(nodes.urls()).await;
    let one_each = vec![[OPERATIONS]; 3];
    assert_eq!(seen(&mut onlookers), one_each, "at rest");

    let client = client();
    let leases = soon(call(&client, &set, names("lock", 100)).join_all()).await;
    let (of_thread, its_set) = (client.clone(), set.clone());
    let lease = elsewhere(async move { of_thread.acquire(&its_set, &once("own")).await });
    // One after the other: such callers are served where they run.
    for _ in 0..100 {
        let lease = client.acquire(&set, &once("often")).await.unwrap();
        lease.release().await;
    }
    settle(&set).await;
    assert_eq!(seen(&mut onlookers), one_each, "while locks are held");

    // They wait for a lock of this process.
    let mut behind = call(&client, &set, vec!["lock0"; 100]);
    wait_until("callers in line", || client.waiting(), |it| *it == 100).await;
    settle(&set).await;
    assert_eq!(seen(&mut onlookers), one_each, "while callers wait in line");
    behind.shutdown().await;

    drop((leases, lease));
    settle(&set).await;
    assert_eq!(seen(&mut onlookers), one_each, "after the locks");
    assert_eq!(accepted(&mut onlookers), [1; 3], "in all that time");

    let another = connect(nodes.urls()).await;
    assert_eq!(
        seen(&mut onlookers),
        [[OPERATIONS; 2]; 3],
        "of two registries"
    );
    drop(another);
    until_seen(&mut onlookers, &[OPERATIONS]).await;
    drop((client, set));
    until_seen(&mut onlookers, &[]).await;
}

/// A client keeps what it knows of a lock for a moment after its release. It must not keep the nodes for longer.
#[tokio::test]
async fn none_once_the_nodes_were_dropped_though_the_client_stays() {
    let nodes = Nodes::start(3).await;
    let mut onlookers = Onlooker::of_all(&nodes);
    let clock = StillClock::default();
    let client = Client::new(clock.environment());
    for kind in [Kind::Plain, Kind::Read, Kind::Write] {
        let set = connect(nodes.urls()).await;
        let lease = client.acquire(&set, &once("r").kind(kind)).await.unwrap();
        clock.advance(Duration::from_millis(20));
        lease.release().await;
        drop(set);
        clock.advance(Duration::from_secs(2));
        until_seen(&mut onlookers, &[]).await;
    }
    drop(client);
}

#[tokio::test]
async fn no_other_while_callers_wait_for_locks_of_other_processes() {
    let nodes = Nodes::start(3).await;
    let mut onlookers = Onlooker::of_all(&nodes);
    let set = connect(nodes.urls()).await;
    let resources = names("lock", 10);
    for onlooker in &mut onlookers {
        onlooker.set_all(&resources);
    }
    let ten_each = resources.iter().flat_map(|name| [name; 10]);
    let mut callers = call(&client(), &set, ten_each);
    until_tracked(&mut onlookers, 10).await;
    assert_eq!(seen(&mut onlookers), [[TRACKING]; 3]);
    assert_eq!(accepted(&mut onlookers), [1; 3], "in all that time");
    for onlooker in &mut onlookers {
        onlooker.ask::<()>("FLUSHALL");
    }
    while let Some(lease) = soon(callers.join_next()).await {
        lease.unwrap().release().await;
    }
    assert_eq!(seen(&mut onlookers), [[TRACKING]; 3]);
}

#[tokio::test]
async fn the_same_to_each_master_of_a_cluster() {
    let servers = RedisCluster::start(0).await;
    let mut onlookers = Onlooker::of_all(servers.servers());
    let set = cluster::connect(&servers).await;
    until_voting(&set[0], true).await;
    // A connection that asked for the layout may not have closed yet.
    until_seen(&mut onlookers, &[OPERATIONS]).await;
    let client = client();
    // A hundred names have slots of each master.
    let leases = soon(call(&client, &set, names("lock", 100)).join_all()).await;
    until_seen(&mut onlookers, &[OPERATIONS]).await;

    let mut callers = call(&super::fixture::client(), &set, names("lock", 100));
    until_seen(&mut onlookers, &[TRACKING]).await;
    callers.shutdown().await;
    drop(leases);
}

#[tokio::test]
async fn one_to_each_sentinel_and_one_to_the_master() {
    let group = SentinelGroup::start().await;
    let mut master = Onlooker::of_all([&group.servers[0]]);
    let mut others = Onlooker::of_all(group.servers.iter().skip(1));
    let mut sentinels = Onlooker::of_all(&group.sentinels);
    let set = sentinel::voting(group.url(), calm()).await;
    let client = client();
    let leases = soon(call(&client, &set, names("lock", 100)).join_all()).await;
    // A connection that asked for the first time may not have closed yet.
    until_seen(&mut sentinels, &[OPERATIONS]).await;
    until_seen(&mut master, &[OPERATIONS]).await;

    let mut callers = call(&super::fixture::client(), &set, names("lock", 10));
    until_tracked(&mut master, 10).await;
    assert_eq!(seen(&mut master), [[TRACKING]]);
    assert!(seen(&mut others).iter().all(Vec::is_empty), "replicas");
    // A connection that a second look opened may not have closed yet.
    until_seen(&mut sentinels, &[OPERATIONS]).await;
    callers.shutdown().await;
    drop(leases);
}
