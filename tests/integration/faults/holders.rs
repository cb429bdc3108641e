//! Holders that are processes of their own, and that stop or die.

use std::time::Duration;

use redlock_core::NodeSet;
use redlock_core::error::AcquireError;
use redlock_core::lease::Released;
use redlock_core::request::RetryLimit;
use redlock_tests::{Nodes, Service, eventually};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::core::fixture::{SOON, client, once, start};
use crate::faults::scene::{majority, until_served};
/// For a holder that is stopped or killed while it holds, and whose ttl is waited for. Where a slow
/// machine takes longer over that than the ttl, the next one follows.
const SHORT: [u64; 4] = [5, 10, 20, 40];

struct Holder {
    process: Service,
    /// Each byte is a tick of its body.
    body: TcpStream,
    ttl: Duration,
}

impl Holder {
    /// Returns when the lock is held on every node; `None` where its ttl was over before.
    async fn start(nodes: &Nodes, ttl: u64) -> Option<Self> {
        let ttl = Duration::from_secs(ttl);
        let mut args = vec!["r".to_owned(), ttl.as_millis().to_string()];
        args.extend(nodes.urls());
        let program = env!("CARGO_BIN_EXE_holder");
        let envs = [("RUST_BACKTRACE", "0")];
        let process = Service::spawn_with_args(program, args, envs, "held, ").await;
        let body = TcpStream::connect(process.addr()).await.ok()?;
        let holder = Self { process, body, ttl };
        let is_held = eventually("the lock on every node", SOON, async || {
            let values = nodes.values_of("r");
            let is_everywhere = values.iter().all(Option::is_some);
            if is_everywhere || holder.is_cancelled() {
                Ok(is_everywhere)
            } else {
                Err(format!("{values:?}"))
            }
        })
        .await;
        is_held.then_some(holder)
    }

    /// A holder to which `stop` was done while it held the lock on every node.
    async fn stopped(nodes: &Nodes, stop: impl AsyncFn(&mut Self)) -> Self {
        for ttl in SHORT {
            if let Some(mut holder) = Self::start(nodes, ttl).await {
                stop(&mut holder).await;
                // From here on nothing but the ttl takes a key away.
                if nodes.values_of("r").iter().all(Option::is_some) {
                    return holder;
                }
            }
            nodes.assert_no_keys(Duration::from_secs(ttl) + SOON).await;
        }
        panic!("no process that holds a lock for {SHORT:?} s is stopped meanwhile");
    }

    async fn send_tick(&mut self) {
        // Nobody reads it where the holder has ended.
        let _ = self.body.write_all(b"x").await;
    }

    /// Waits until its body has had a tick and was polled again, or will not be.
    async fn until_ticked(&self) {
        eventually("a tick", SOON, async || {
            let output = self.process.output();
            let has_ticked = output.lines().any(|line| line == "waiting after 1 ticks");
            let is_over = has_ticked || self.is_cancelled();
            is_over.then_some(()).ok_or(output)
        })
        .await;
    }

    /// Whether its ttl was over before its body was.
    fn is_cancelled(&self) -> bool {
        let output = self.process.output();
        output.lines().any(|line| line.starts_with("cancelled: "))
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

async fn a_holder_stopped_past_its_ttl_leaves_the_next_one_alone(n: usize) {
    let (nodes, set) = start(n).await;
    let mut holder = Holder::stopped(&nodes, async |holder| {
        holder.send_tick().await;
        holder.until_ticked().await;
        holder.process.freeze();
    })
    .await;
    nodes.assert_no_keys(holder.ttl + SOON).await;
    let next = client().acquire(&set, &once("r")).await.unwrap();
    let values = settled_values(&nodes, &set).await;

    // Something for its body to do as soon as it is polled.
    holder.send_tick().await;
    holder.process.thaw();
    let line = "cancelled: its ttl is over";
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
    let _killed = Holder::stopped(&nodes, async |holder| holder.process.kill()).await;
    // No node frees the key before the time that it says now is over. The servers have one clock,
    // which is the machine's.
    let mut free: Vec<_> = nodes
        .iter()
        .map(|node| {
            let asked = node.time();
            let left = node.pttl("r").left();
            // A killed holder sends nothing, so a key that is gone has expired.
            asked + left.unwrap_or_default()
        })
        .collect();
    free.sort();
    let majority_is_free = free[majority(n) - 1];
    let refused = client().acquire(&set, &once("r")).await;
    // On a slow machine the ttl may have passed meanwhile.
    let is_early = nodes[0].time() < majority_is_free;
    assert!(
        !is_early || matches!(refused, Err(AcquireError::Contended(_))),
        "{refused:?}"
    );
    drop(refused);
    let request = once("r")
        .retry_limit(RetryLimit::Forever)
        .retry_delay(Duration::from_millis(20));
    let lease = client().acquire(&set, &request).await.unwrap();
    // A server counts in whole milliseconds.
    let acquired = nodes[0].time() + Duration::from_millis(1);
    assert!(
        acquired >= majority_is_free,
        "{:?} too early",
        majority_is_free.saturating_sub(acquired)
    );
    lease.release().await;
    nodes.assert_no_keys(SOON).await;
}

with_three_and_five_nodes! {
    a_holder_stopped_past_its_ttl_leaves_the_next_one_alone,
    a_killed_holders_lock_is_free_at_its_ttl_and_not_before,
}
