//! Holders that are processes of their own, and that stop or die.

use std::time::{Duration, Instant};

use redlock_core::{AcquireError, NodeSet, Released, RetryLimit};
use redlock_tests::{Nodes, Service, eventually};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::fixture::{SOON, client, once, start};
use crate::scene::{majority, until_served};

/// Time enough to stop or kill the holder while it holds, on a busy machine.
const TTL: Duration = Duration::from_secs(5);

struct Holder {
    process: Service,
    /// Each byte is a tick of its body.
    body: TcpStream,
}

impl Holder {
    /// Returns when the lock is held on every node.
    async fn start(nodes: &Nodes) -> Self {
        let mut args = vec!["r".to_owned(), TTL.as_millis().to_string()];
        args.extend(nodes.urls());
        let program = env!("CARGO_BIN_EXE_holder");
        let envs = [("RUST_BACKTRACE", "0")];
        let process = Service::spawn_with_args(program, args, envs, "held, ").await;
        let body = TcpStream::connect(process.addr()).await.unwrap();
        eventually("the lock on every node", SOON, async || {
            let values = nodes.values_of("r");
            let is_everywhere = values.iter().all(Option::is_some);
            is_everywhere.then_some(()).ok_or(format!("{values:?}"))
        })
        .await;
        Self { process, body }
    }

    async fn send_tick(&mut self) {
        self.body.write_all(b"x").await.unwrap();
    }

    fn ticks(&self) -> usize {
        let output = self.process.output();
        output.lines().filter(|line| *line == "tick").count()
    }
}

/// The next holder's lock, once every node has served what was sent to it.
async fn settled_values(nodes: &Nodes, set: &NodeSet) -> Vec<Option<Vec<u8>>> {
    until_served(set).await;
    let values = nodes.values_of("r");
    assert!(values.iter().all(Option::is_some), "{values:?}");
    values
}

async fn a_holders_body_runs_to_its_end_and_leaves_no_key(n: usize) {
    let nodes = Nodes::start(n).await;
    let mut holder = Holder::start(&nodes).await;
    holder.send_tick().await;
    drop(holder.body);
    holder.process.wait_for_line("done", SOON).await;
    assert!(holder.process.wait(SOON).await.success());
    nodes.assert_no_keys(Duration::ZERO).await;
}

async fn a_holder_stopped_past_its_ttl_runs_no_further_and_leaves_the_next_one_alone(n: usize) {
    let (nodes, set) = start(n).await;
    let mut holder = Holder::start(&nodes).await;
    holder.send_tick().await;
    let line = "waiting after 1 ticks";
    holder.process.wait_for_line(line, SOON).await;
    holder.process.freeze();
    nodes.assert_no_keys(SOON).await;
    let next = client().acquire(&set, &once("r")).await.unwrap();
    let values = settled_values(&nodes, &set).await;

    // Something for its body to do as soon as it is polled.
    holder.send_tick().await;
    holder.process.thaw();
    let line = "cancelled: the lease's validity ended";
    holder.process.wait_for_line(line, SOON).await;
    // Its release has been served everywhere when it ends.
    assert!(holder.process.wait(SOON).await.success());
    assert_eq!(holder.ticks(), 1, "{}", holder.process);
    assert_eq!(nodes.values_of("r"), values);
    next.extend(Duration::from_secs(120)).await.unwrap();
    assert_eq!(next.release().await, Released::Confirmed);
    until_served(&set).await;
    nodes.assert_no_keys(Duration::ZERO).await;
}

async fn a_killed_holders_lock_is_free_at_its_ttl_and_not_before(n: usize) {
    let (nodes, set) = start(n).await;
    let holder = Holder::start(&nodes).await;
    holder.process.kill();
    // No node frees the key before the time that it says now is over.
    let mut free: Vec<_> = nodes
        .iter()
        .map(|node| {
            let asked = Instant::now();
            let left = node.pttl("r").left();
            asked + left.expect("a killed holder sends nothing")
        })
        .collect();
    free.sort();
    let majority_is_free = free[majority(n) - 1];
    let refused = client().acquire(&set, &once("r")).await;
    assert!(
        matches!(refused, Err(AcquireError::Contended(_))),
        "{refused:?}"
    );
    let mut request = once("r");
    request.retry.limit = RetryLimit::Forever;
    request.retry.delay = Duration::from_millis(20);
    let lease = client().acquire(&set, &request).await.unwrap();
    // Two clocks, to the millisecond each.
    let acquired = Instant::now() + Duration::from_millis(10);
    assert!(
        acquired >= majority_is_free,
        "{:?} too early",
        majority_is_free.duration_since(acquired)
    );
    lease.release().await;
    nodes.assert_no_keys(SOON).await;
}

with_three_and_five_nodes! {
    a_holders_body_runs_to_its_end_and_leaves_no_key,
    a_holder_stopped_past_its_ttl_runs_no_further_and_leaves_the_next_one_alone,
    a_killed_holders_lock_is_free_at_its_ttl_and_not_before,
}
