//! Callers that lock and release in turns: the program that `scripts/pair` compiles against each checkout.
//!
//! ```text
//! "ready"                  the servers of the command line are connected
//! "100 16 hot fenced"      an order on stdin: 100 ms, 16 callers, and any of `current_thread`, `fenced`, `hot`
//! [10932,100482113,0]      the answer: pairs, the nanoseconds that they took, and allocations, if it counts them
//! ```

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::request::RetryLimit;
use redlock_core::{Client, IoThread, Node, NodeSet, RedisNode, Request};
use tokio::runtime::Builder;

#[cfg(feature = "counting")]
#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

fn main() {
    let builders = [Builder::new_multi_thread(), Builder::new_current_thread()];
    let [multi_thread, current_thread] =
        builders.map(|mut builder| builder.enable_all().build().expect("a tokio runtime"));
    let io = IoThread::start().expect("an I/O thread");
    let client = Client::new(io.environment());
    // Each runtime is the home of its own connections.
    let homes = [multi_thread, current_thread].map(|runtime| {
        let nodes = runtime.block_on(connect(&io));
        (runtime, nodes)
    });
    println!("\"ready\"");
    for order in io::stdin().lines() {
        let order = order.expect("a line from `scripts/pair`");
        let words: Vec<&str> = order.trim_matches('"').split(' ').collect();
        let (runtime, nodes) = &homes[usize::from(words.contains(&"current_thread"))];
        let (began, allocated) = (Instant::now(), allocations());
        let pairs = runtime.block_on(take_turn(&client, nodes, &words));
        let (elapsed, allocated) = (began.elapsed(), allocations() - allocated);
        println!("[{pairs},{},{allocated}]", elapsed.as_nanos());
    }
    // A release was confirmed by a majority: the others may not have been sent yet.
    for (runtime, nodes) in &homes {
        let late = runtime.block_on(client.flush(nodes, Duration::from_secs(10)));
        assert!(late.is_empty(), "releases are owed: {late:?}");
    }
}

/// Connects to the servers of the command line.
async fn connect(io: &IoThread) -> NodeSet {
    let start = |url: String| {
        let address = RedisAddress::parse(&url).expect("a URL of the harness");
        Arc::new(RedisNode::start(url, address, RedisOptions::default(), io))
    };
    let nodes: Vec<_> = std::env::args().skip(1).map(start).collect();
    for node in &nodes {
        node.wait_until_settled().await;
    }
    nodes
        .into_iter()
        .map(|node| node as Arc<dyn Node>)
        .collect()
}

/// Lets the callers of this order loose. Returns how many pairs they had.
async fn take_turn(client: &Client, nodes: &NodeSet, words: &[&str]) -> u64 {
    let number = |place: usize| words[place].parse().expect("a number");
    let end = Instant::now() + Duration::from_millis(number(0));
    let is_hot = words.contains(&"hot");
    let callers: Vec<_> = (0..number(1))
        .map(|caller| {
            let key = if is_hot { 0 } else { caller };
            let request = Request::new(format!("bench:probe-{}:{key}", std::process::id()))
                .fencing(words.contains(&"fenced"))
                .retry_limit(RetryLimit::Forever);
            let (client, nodes) = (client.clone(), nodes.clone());
            tokio::spawn(async move {
                let mut pairs = 0;
                while Instant::now() < end {
                    let lease = client.acquire(&nodes, &request).await;
                    let lease = lease.expect("a lock that is waited for");
                    if is_hot {
                        // The others get a chance to ask while it is held.
                        tokio::task::yield_now().await;
                    }
                    lease.release().await;
                    pairs += 1;
                }
                pairs
            })
        })
        .collect();
    let mut pairs = 0;
    for caller in callers {
        pairs += caller.await.expect("a caller that does not panic");
    }
    pairs
}

/// Returns the allocations and reallocations of this process so far; zero if the build does not count them.
fn allocations() -> usize {
    #[cfg(feature = "counting")]
    {
        let stats = ALLOCATOR.stats();
        stats.allocations + stats.reallocations
    }
    #[cfg(not(feature = "counting"))]
    0
}
