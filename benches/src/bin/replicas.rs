//! Measures the pairs that callers make with and without `replicas = 1`.
//!
//! ```text
//! cargo run --release -p redlock-benches --bin replicas
//! ```
//!
//! A pair is a lock and its release, on one server with one replica. Each caller has a resource of its own. Both ways
//! take turns of 0.3 s, and a row has the medians of twelve turns each.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use redlock_benches::Table;
use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::{Client, IoThread, NodeSet, RedisNode, Request};
use redlock_tests::{NodeOptions, wait_until};

const TURN: Duration = Duration::from_millis(300);
const TURNS: usize = 12;

#[tokio::main(worker_threads = 2)]
async fn main() {
    let options = NodeOptions::default().arg("repl-diskless-sync-delay", "0");
    let master = redlock_tests::RedisNode::start_with(options.clone()).await;
    let _replica = redlock_tests::RedisNode::start_with(options.replica_of(&master)).await;
    let state = || master.info("slave0").unwrap_or_default();
    wait_until("the replica", state, |it| it.contains("state=online")).await;
    let io = IoThread::start().expect("an I/O thread");
    let (without, with) = (
        connect(&master.url(), 0, &io).await,
        connect(&master.url(), 1, &io).await,
    );
    let client = Client::new(io.environment());
    let columns = ["callers", "pairs a second", "with a replica", "ratio"];
    let mut table = Table::new(columns);
    for callers in [1, 16, 128] {
        let mut rates = [Vec::new(), Vec::new(), Vec::new()];
        for turn in 0..=TURNS {
            let (of_without, of_with) = (
                pairs(&client, &without, callers).await,
                pairs(&client, &with, callers).await,
            );
            // The first turn warms up.
            if turn > 0 {
                let all = [of_without, of_with, of_with / of_without];
                rates.iter_mut().zip(all).for_each(|(of, it)| of.push(it));
            }
        }
        let [without, with, ratio] = rates.map(median);
        table.row([
            callers.to_string(),
            format!("{without:.0}"),
            format!("{with:.0}"),
            format!("{ratio:.2}"),
        ]);
    }
    println!("{table}");
}

async fn connect(url: &str, replicas: u32, io: &IoThread) -> NodeSet {
    let address = RedisAddress::parse(url).expect("a URL");
    let options = RedisOptions::default().replicas(replicas);
    let node = RedisNode::start("a", address, options, io);
    node.wait_until_settled().await;
    [Arc::new(node) as _].into()
}

/// Returns the pairs that `callers` make in a second.
async fn pairs(client: &Client, set: &NodeSet, callers: usize) -> f64 {
    let began = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let (client, set) = (client.clone(), set.clone());
            let request = Request::new(format!("pairs:{caller}"));
            tokio::spawn(async move {
                let mut count = 0.0;
                while began.elapsed() < TURN {
                    let lease = client.acquire(&set, &request).await;
                    lease.expect("nobody else wants it").release().await;
                    count += 1.0;
                }
                count
            })
        })
        .collect();
    let counts = join_all(tasks).await.into_iter();
    let count: f64 = counts.map(|it| it.expect("a caller")).sum();
    count / began.elapsed().as_secs_f64()
}

fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
