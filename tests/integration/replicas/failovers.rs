//! Second holders after a failover, with and without acknowledged votes.
//!
//! Callers take locks without a pause until the master is killed. Then another process asks the promoted replica for
//! each lock that is held. `FAILOVERS=100 cargo test … replicas::failovers -- --nocapture` prints the figures of the
//! guide. Without the variable there are a few failovers, of those whose outcome is certain.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use redlock_core::redis::RedisOptions;
use redlock_core::{Client, Lease, NodeSet, Request, Settings};
use redlock_tests::{Proxy, SentinelGroup, SentinelOptions, wait_until};

use super::{LONG, Pair};
use crate::core::fixture::{IO, SOON, calm, client, connect_with, until_abstaining, until_voting};
use crate::sentinel::fixture::voting;

/// The callers that take locks at once.
const CALLERS: usize = 8;

/// The locks that are held before the master is killed.
const HELD: usize = 40;

const NODE_TIMEOUT: Duration = Duration::from_millis(200);

/// The locks held at failovers, and those that got a second holder.
#[derive(Default)]
struct Figures {
    failovers: usize,
    with_second_holders: usize,
    held: usize,
    second_holders: usize,
}

impl Figures {
    /// Asks `successor` for each lock of `held`.
    async fn record(&mut self, held: &[(String, Lease)], successor: &NodeSet) {
        let client = client();
        let asked = held.iter().map(|(name, _)| {
            let request = request(name);
            let (client, successor) = (&client, successor);
            async move { client.acquire(successor, &request).await.is_ok() }
        });
        let second = join_all(asked).await.into_iter().filter(|it| *it).count();
        self.failovers += 1;
        self.with_second_holders += usize::from(second > 0);
        self.held += held.len();
        self.second_holders += second;
    }
}

fn request(name: &str) -> Request {
    Request::new(name).ttl(LONG).retry_limit(0)
}

fn options(replicas: u32) -> RedisOptions {
    RedisOptions::default()
        .connect_timeout(SOON)
        .for_node_timeout(NODE_TIMEOUT)
        .replicas(replicas)
}

/// Takes locks on `set` until `fail_over` has ended, which begins once [`HELD`] locks are held. Returns the leases.
async fn hold_until(set: &NodeSet, fail_over: impl AsyncFnOnce()) -> Vec<(String, Lease)> {
    let settings = Settings::default().node_timeout(NODE_TIMEOUT);
    let client = Client::with_settings(IO.environment(), settings);
    let (is_over, held) = (AtomicBool::new(false), parking_lot::Mutex::new(Vec::new()));
    let callers = join_all((0..CALLERS).map(async |caller| {
        let mut number = 0;
        while !is_over.load(Ordering::Relaxed) {
            let name = format!("{caller}-{number}");
            number += 1;
            match client.acquire(set, &request(&name)).await {
                Ok(lease) => held.lock().push((name, lease)),
                Err(_) => tokio::task::yield_now().await,
            }
        }
    }));
    let killing = async {
        let enough = |count: &usize| *count >= HELD;
        wait_until("locks that are held", || held.lock().len(), enough).await;
        fail_over().await;
        is_over.store(true, Ordering::Relaxed);
    };
    tokio::join!(callers, killing);
    held.into_inner()
}

/// Fails over by hand, with a replica that `slow` makes lag.
async fn by_hand(slow: impl Fn(&Proxy), replicas: u32, failovers: usize) -> Figures {
    let mut figures = Figures::default();
    for _ in 0..failovers {
        let pair = Pair::start().await;
        let set = voting(pair.master.url(), options(replicas)).await;
        slow(&pair.proxy);
        let held = hold_until(&set, async || pair.fail_over()).await;
        let successor = connect_with([pair.replica.url()], &calm()).await;
        figures.record(&held, &successor).await;
    }
    figures
}

/// Fails over by sentinels, from a master with `of` replicas.
async fn by_sentinels(of: u32, replicas: u32, failovers: usize) -> Figures {
    let (usual, is_certain) = (SentinelOptions::default(), replicas == of);
    let with = if of == 1 { usual.one_replica() } else { usual };
    let mut figures = Figures::default();
    for _ in 0..failovers {
        let group = SentinelGroup::start_with(with.clone()).await;
        let before = group.master().await;
        let set = voting(group.url(), options(replicas)).await;
        let held = hold_until(&set, async || before.kill()).await;
        group.until_replaced(before).await;
        let successor = connect_with([group.master().await.url()], &calm()).await;
        until_voting(&successor[0], true).await;
        figures.record(&held, &successor).await;
        if is_certain {
            // The new master votes only with as many replicas.
            until_abstaining(&set[0], "replicas acknowledged").await;
            before.restart().await;
            until_voting(&set[0], true).await;
        }
    }
    figures
}

fn print(line: &str, figures: &Figures) {
    println!(
        "{line}: {} of {} failovers, {} of {} locks",
        figures.with_second_holders, figures.failovers, figures.second_holders, figures.held
    );
}

/// Returns the number of failovers for a figure of the guide, or `None` in a usual run.
fn failovers() -> Option<usize> {
    let count = std::env::var("FAILOVERS").ok()?;
    Some(count.parse().expect("a number"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_lock_gets_a_second_holder_after_failover() {
    for lag in [0, 5, 50].map(Duration::from_millis) {
        let figures = by_hand(|proxy| proxy.delay(lag), 1, failovers().unwrap_or(2)).await;
        print(&format!("by hand, lag {lag:?}, replicas = 1"), &figures);
        assert_eq!(figures.second_holders, 0);
        assert!(figures.held >= figures.failovers * HELD);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unacknowledged_lock_gets_a_second_holder_after_failover() {
    // This is what `replicas` is for.
    let figures = by_hand(Proxy::hold_to_client, 0, 1).await;
    assert_eq!(figures.second_holders, figures.held);
    for lag in [0, 5, 50].map(Duration::from_millis) {
        let figures = by_hand(|proxy| proxy.delay(lag), 0, failovers().unwrap_or(0)).await;
        print(&format!("by hand, lag {lag:?}, without"), &figures);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_lock_that_all_replicas_have_is_lost_by_sentinels() {
    for (of, replicas) in [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2)] {
        let is_certain = replicas == of;
        let failovers = failovers().unwrap_or(usize::from(is_certain));
        let figures = by_sentinels(of, replicas, failovers).await;
        let line = format!("by sentinels, {of} replicas, replicas = {replicas}");
        print(&line, &figures);
        assert!(!is_certain || figures.second_holders == 0);
    }
}
