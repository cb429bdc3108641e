//! The nodes, each behind a proxy, and what can be done to them.

use std::sync::Arc;
use std::time::Duration;

use redlock_tests::{NodeOptions, Nodes, Proxy, Pttl, RedisNode};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::faults::stops_within;
use crate::plan::LONGEST_TTL;

/// How long the library's restart check keeps a node away that may have forgotten locks: `max_ttl`,
/// and less than this for clocks.
const QUARANTINE: Duration = LONGEST_TTL.saturating_add(Duration::from_secs(1));

/// How long a node that came back empty may take until a client has marked it.
const MARKED: Duration = Duration::from_secs(60);

/// Three of the longest retry delay, and more.
const LONGEST_ADVICE: Duration = Duration::from_secs(1);

/// A client's place in the queue for a permit is kept for 10 s after it has waited, and for as long as it waits.
const LONGEST_PLACE: Duration = Duration::from_secs(20);

/// An idle counter is kept for 70 minutes, and for as long as it is ahead of its node's clock.
const LONGEST_RECORD: Duration = Duration::from_secs(70 * 60 + 10);

/// After so long without an answer a node is asked again.
const LOOK: Duration = Duration::from_secs(2);

/// Whether the workers are told that the node at `seat` forgets nothing when it restarts. It is
/// never restarted empty then.
pub(crate) fn is_trusted(seat: usize) -> bool {
    seat.is_multiple_of(2)
}

/// A fault of one node. Those with a duration end after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum NodeFault {
    /// `SIGSTOP`, and `SIGCONT` later.
    Freeze,
    /// `SIGKILL`, and a start with its file of every change.
    RestartKept,
    /// `SIGKILL`, and a start without it. Without the library's restart check this breaks exclusion, even
    /// where it happens to one node: a holder may have a bare majority, and the forgetful node then
    /// votes for someone else.
    RestartEmpty,
    /// Connections are closed and refused.
    Cut,
    /// Connections are closed.
    Sever,
    LoseRequests,
    LoseAnswers,
    /// What is sent arrives late.
    HoldRequests,
    HoldAnswers,
    Delay,
    ScriptFlush,
    ClientKill,
    /// The fencing counters of one node are ahead of the others'.
    CountersAhead,
}

impl NodeFault {
    pub(crate) const ALL: [Self; 13] = [
        Self::Freeze,
        Self::RestartKept,
        Self::RestartEmpty,
        Self::Cut,
        Self::Sever,
        Self::LoseRequests,
        Self::LoseAnswers,
        Self::HoldRequests,
        Self::HoldAnswers,
        Self::Delay,
        Self::ScriptFlush,
        Self::ClientKill,
        Self::CountersAhead,
    ];
}

#[derive(Debug)]
pub(crate) struct Cluster {
    pub(crate) nodes: Nodes,
    proxies: Vec<Proxy>,
}

impl Cluster {
    /// All nodes write every change to disk before they answer, so that a kill loses nothing that
    /// is not taken away on purpose.
    pub(crate) async fn start(count: u32) -> Self {
        let options = NodeOptions::default().append_only();
        let nodes = Nodes::start_with(count as usize, options).await;
        let mut proxies = Vec::new();
        for node in &nodes {
            proxies.push(Proxy::start(node).await);
        }
        Self { nodes, proxies }
    }

    pub(crate) fn urls(&self) -> Vec<String> {
        self.proxies.iter().map(Proxy::url).collect()
    }

    /// Lets `fault` happen to the node at `seat` and undoes it after `span`, or as soon as `stopped` is true.
    pub(crate) async fn inflict(
        &self,
        seat: usize,
        fault: NodeFault,
        span: Duration,
        stopped: &watch::Receiver<bool>,
    ) {
        let (node, proxy) = (&self.nodes[seat], &self.proxies[seat]);
        match fault {
            NodeFault::Freeze => node.freeze(),
            NodeFault::RestartKept => node.kill(),
            NodeFault::Cut => proxy.cut().await,
            NodeFault::LoseRequests => proxy.swallow_to_server(),
            NodeFault::LoseAnswers => proxy.swallow_to_client(),
            NodeFault::HoldRequests => proxy.hold_to_server(),
            NodeFault::HoldAnswers => proxy.hold_to_client(),
            NodeFault::Delay => proxy.delay(span / 20),
            // Those without a duration.
            NodeFault::RestartEmpty => return restart_empty(node).await,
            NodeFault::Sever => return proxy.sever().await,
            NodeFault::ScriptFlush => return node.script_flush(),
            NodeFault::ClientKill => {
                node.command(["CLIENT", "KILL", "TYPE", "normal"]);
                return;
            }
            NodeFault::CountersAhead => return move_counters(node, span / 2),
        }
        stops_within(span, stopped).await;
        match fault {
            NodeFault::Freeze => node.thaw(),
            NodeFault::RestartKept => node.restart().await,
            _ => proxy.restore().await,
        }
    }

    /// Waits until a client has marked the node at `seat`, which came back empty, and then until its
    /// quarantine is over.
    pub(crate) async fn remembers(self: Arc<Self>, seat: usize) {
        let deadline = Instant::now() + MARKED;
        while Instant::now() < deadline {
            let cluster = Arc::clone(&self);
            // It may be frozen, which takes a while to find out.
            let marked = tokio::task::spawn_blocking(move || {
                let node = &cluster.nodes[seat];
                node.try_command_within::<bool>(LOOK, ["EXISTS", "redlock:marker"])
            });
            // An error is a node that is down again.
            if matches!(marked.await, Ok(Ok(true))) {
                break;
            }
            sleep(Duration::from_millis(50)).await;
        }
        sleep(QUARANTINE).await;
    }

    /// The keys that stay behind all clients, which have ended by now: those that live longer than they
    /// may, and keys of locks and of waiting callers that are still there when the last of them has to be
    /// gone.
    pub(crate) async fn keys_leaked(&self) -> Vec<String> {
        let (mut leaked, mut last) = (Vec::new(), Duration::ZERO);
        for (key, left) in self.keys() {
            match (bound_of(&key), left.left()) {
                (Some(Bound { longest, .. }), left) if left.is_none_or(|left| left > longest) => {
                    leaked.push(format!("{key}, {left:?}"));
                }
                (Some(Bound { passes: true, .. }), Some(left)) => last = last.max(left),
                _ => {}
            }
        }
        if leaked.is_empty() && !last.is_zero() {
            // As the nodes count it, by the clock that we have in common. Nobody sets a key any more.
            sleep(last).await;
            let passes = |(key, _): &(String, _)| bound_of(key).is_some_and(|bound| bound.passes);
            let left = self.keys().into_iter().filter(passes);
            leaked.extend(left.map(|(key, left)| format!("{key}, {left:?}")));
        }
        leaked
    }

    fn keys(&self) -> Vec<(String, Pttl)> {
        let keys = self.nodes.iter().flat_map(|node| {
            let keys = node.keys().into_iter();
            keys.map(|key| (key.escape_ascii().to_string(), node.pttl(&key)))
        });
        keys.filter(|(_, left)| *left != Pttl::Missing).collect()
    }
}

/// How long a key may live.
struct Bound {
    longest: Duration,
    /// It has to be gone soon after the last client.
    passes: bool,
}

/// `None` for the marker of the restart check, which stays.
fn bound_of(key: &str) -> Option<Bound> {
    let kind = key.split_once("redlock:").map_or("", |(_, kind)| kind);
    let (longest, passes) = match kind.split(':').next()? {
        "" | "permit" | "readers" => (LONGEST_TTL, true),
        "intent" | "turn" => (LONGEST_ADVICE, true),
        "queue" => (LONGEST_PLACE, false),
        "fence" => (LONGEST_RECORD, false),
        _ => return None,
    };
    Some(Bound { longest, passes })
}

/// Does what a client does whose clock is ahead, and whose attempt fails: with one clock on one host,
/// the nodes' counters would otherwise hardly ever disagree. Less ahead than a node that lost its
/// counters stays away, so that the time has caught up by then.
fn move_counters(node: &RedisNode, ahead: Duration) {
    let script = "local time = redis.call('TIME') \
                  local count = time[1] * 1000000 + time[2] + ARGV[1] \
                  for _, key in ipairs(redis.call('KEYS', 'redlock:fence:*')) do \
                    if tonumber(redis.call('GET', key)) < count then \
                      redis.call('SET', key, string.format('%.0f', count), 'KEEPTTL') \
                    end \
                  end";
    let micros = ahead.as_micros().to_string();
    node.command(["EVAL", script, "0", &micros]);
}

/// Empty at once is the worst that a node can do.
async fn restart_empty(node: &RedisNode) {
    node.kill();
    let file = node.dir().join("appendonlydir");
    std::fs::remove_dir_all(&file)
        .unwrap_or_else(|error| panic!("cannot remove {}: {error}", file.display()));
    node.restart().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPAN: Duration = Duration::from_millis(50);

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn key_that_outlives_its_bound_is_found() {
        let cluster = Cluster::start(1).await;
        let node = &cluster.nodes[0];
        let hour = Duration::from_secs(60 * 60);
        node.set("redlock:marker", "there", None);
        node.set("redlock:fence:{r}", "7", Some(hour));
        node.set("redlock:intent:{r}", "me", Some(Duration::from_millis(50)));
        assert_eq!(cluster.keys_leaked().await, [""; 0], "the intent expires");
        let cases = [
            ("redlock:fence:{r}", 2 * hour),
            ("r", hour),
            ("redlock:intent:{r}", LONGEST_TTL),
            ("redlock:turn:{r}", LONGEST_TTL),
            ("redlock:queue:2:{r}", hour),
            ("redlock:permit:2:{r}", hour),
            ("redlock:readers:{r}", hour),
        ];
        for (key, too_long) in cases {
            for left in [None, Some(too_long)] {
                node.set(key, "there", left);
                let leaked = cluster.keys_leaked().await;
                assert!(
                    matches!(&leaked[..], [one] if one.starts_with(key)),
                    "{key}: {leaked:?}"
                );
            }
            node.command(["DEL", key]);
        }
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn node_is_well_after_every_fault() {
        let cluster = Cluster::start(1).await;
        let node = &cluster.nodes[0];
        for fault in NodeFault::ALL {
            node.set("r", "token", None);
            cluster
                .inflict(0, fault, SPAN, &watch::channel(true).1)
                .await;
            assert!(node.is_reachable(), "{fault:?}");
            let forgets = fault == NodeFault::RestartEmpty;
            assert_eq!(node.get("r").is_none(), forgets, "{fault:?}");
        }
    }
}
