//! Measures the time that a server spends on processes that wait for a permit.
//!
//! ```text
//! cargo run --release -p redlock-benches --bin waiting            100 processes, 10 s for each row
//! cargo run --release -p redlock-benches --bin waiting -- 2 256   the rows of 2 and of 256 permits
//! ```
//!
//! A process is a client with its own connection. All permits are held throughout, by leases that renew themselves. In
//! the second row of each number, four permits a second come free, and a waiting process gets each.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use redlock_benches::Table;
use redlock_core::redis::{RedisAddress, RedisOptions};
use redlock_core::request::{Kind, MaxHold, RetryLimit};
use redlock_core::{Client, IoThread, Lease, NodeSet, RedisNode, Request};
use redlock_tests::NodeOptions;

const PROCESSES: usize = 100;
const RUN: Duration = Duration::from_secs(10);

/// All leases, the oldest one first.
type Leases = Arc<Mutex<VecDeque<Lease>>>;

#[tokio::main]
async fn main() {
    let counts: Vec<u16> = std::env::args()
        .skip(1)
        .map(|count| count.parse().expect("a number of permits"))
        .collect();
    let counts = if counts.is_empty() {
        vec![1, 2, 16, 256]
    } else {
        counts
    };
    let columns = [
        "permits",
        "released a second",
        "% of a core",
        "tries",
        "PTTL",
    ];
    let mut table = Table::new(columns);
    for count in counts {
        for released in [0, 4] {
            table.row(row(count, released).await);
        }
    }
    println!("{table}");
}

/// Has processes wait, and returns the cells of their row.
async fn row(count: u16, released: u32) -> [String; 5] {
    let server = redlock_tests::RedisNode::start_blocking(NodeOptions::default());
    let io = IoThread::start().expect("an I/O thread");
    let request = Request::new("bench:waiting")
        .kind(Kind::Permits(count))
        .max_hold(MaxHold::Unlimited)
        .retry_limit(RetryLimit::Forever);
    let leases = Leases::default();
    let holder = Process::connect(&server.url(), &io).await;
    for _ in 0..count {
        holder.hold(&request, &leases).await;
    }
    let mut waiting = Vec::new();
    for _ in 0..PROCESSES {
        let process = Process::connect(&server.url(), &io).await;
        let (request, leases) = (request.clone(), Arc::clone(&leases));
        waiting.push(tokio::spawn(async move {
            loop {
                process.hold(&request, &leases).await;
            }
        }));
    }
    // All have been refused once.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let figures = || {
        (
            cpu_time(&server),
            server.calls("evalsha"),
            server.calls("pttl"),
        )
    };
    let (before, began) = (figures(), Instant::now());
    while began.elapsed() < RUN {
        tokio::time::sleep(Duration::from_secs(1) / released.max(1)).await;
        if released > 0 {
            let oldest = leases.lock().unwrap().pop_front();
            oldest.expect("a lease").release().await;
        }
    }
    let (after, elapsed) = (figures(), began.elapsed().as_secs_f64());
    waiting.iter().for_each(tokio::task::JoinHandle::abort);
    [
        count.to_string(),
        released.to_string(),
        format!("{:.1}", (after.0 - before.0) / elapsed * 100.0),
        (after.1 - before.1).to_string(),
        (after.2 - before.2).to_string(),
    ]
}

struct Process {
    client: Client,
    nodes: NodeSet,
}

impl Process {
    async fn connect(url: &str, io: &IoThread) -> Self {
        let address = RedisAddress::parse(url).expect("a URL of the harness");
        let node = RedisNode::start("a", address, RedisOptions::default(), io);
        node.wait_until_settled().await;
        Self {
            client: Client::new(io.environment()),
            nodes: [Arc::new(node) as _].into(),
        }
    }

    /// Waits for a permit, and keeps it.
    async fn hold(&self, request: &Request, leases: &Leases) {
        let lease = self.client.acquire(&self.nodes, request).await;
        let lease = lease.expect("a permit that is waited for");
        leases.lock().unwrap().push_back(lease);
    }
}

/// Returns the processor time of a server so far, in seconds.
fn cpu_time(server: &redlock_tests::RedisNode) -> f64 {
    let part = |field| server.info(field).and_then(|text| text.parse::<f64>().ok());
    let fields = ["used_cpu_user", "used_cpu_sys"];
    fields.iter().filter_map(|field| part(field)).sum()
}
