//! The nodes, each behind a proxy, and what can be done to them.

use std::sync::Arc;
use std::time::Duration;

use redlock_tests::{NodeOptions, Nodes, Proxy, Pttl, RedisNode};
use tokio::time::{Instant, sleep};

use crate::plan::LONGEST_TTL;

/// How long the library's restart check keeps a node away that may have forgotten locks: `max_ttl`,
/// and less than this for clocks.
const QUARANTINE: Duration = LONGEST_TTL.saturating_add(Duration::from_secs(1));

/// How long a node that came back empty may take until a client has marked it.
const MARKED: Duration = Duration::from_secs(60);

/// Three of the longest retry delay, and more.
const LONGEST_ADVICE: Duration = Duration::from_secs(1);

/// An idle counter is kept for an hour, and for as long as it is ahead of its node's clock.
const LONGEST_RECORD: Duration = Duration::from_secs(60 * 60 + 10);

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

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Freeze => "node frozen",
            Self::RestartKept => "node killed, restarted with its data",
            Self::RestartEmpty => "node killed, restarted empty",
            Self::Cut => "network cut",
            Self::Sever => "connections severed",
            Self::LoseRequests => "requests lost",
            Self::LoseAnswers => "answers lost",
            Self::HoldRequests => "requests held back",
            Self::HoldAnswers => "answers held back",
            Self::Delay => "network delayed",
            Self::ScriptFlush => "SCRIPT FLUSH",
            Self::ClientKill => "CLIENT KILL",
            Self::CountersAhead => "fencing counters moved ahead",
        }
    }
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

    /// Lets `fault` happen to the node at `seat` and undoes it after `span`, or as soon as `ended`
    /// completes.
    pub(crate) async fn inflict(
        &self,
        seat: usize,
        fault: NodeFault,
        span: Duration,
        ended: impl Future<Output = ()>,
    ) {
        let (node, proxy) = (&self.nodes[seat], &self.proxies[seat]);
        match fault {
            NodeFault::Freeze => node.freeze(),
            NodeFault::RestartKept | NodeFault::RestartEmpty => node.kill(),
            NodeFault::Cut => proxy.cut().await,
            NodeFault::Sever => proxy.sever().await,
            NodeFault::LoseRequests => proxy.swallow_to_server(),
            NodeFault::LoseAnswers => proxy.swallow_to_client(),
            NodeFault::HoldRequests => proxy.hold_to_server(),
            NodeFault::HoldAnswers => proxy.hold_to_client(),
            NodeFault::Delay => proxy.delay(span / 20),
            NodeFault::ScriptFlush => node.script_flush(),
            NodeFault::ClientKill => {
                node.command(["CLIENT", "KILL", "TYPE", "normal"]);
            }
            NodeFault::CountersAhead => move_counters(node, span / 2),
        }
        let lasts = !matches!(
            fault,
            // Empty at once is the worst that a node can do.
            NodeFault::RestartEmpty
                | NodeFault::Sever
                | NodeFault::ScriptFlush
                | NodeFault::ClientKill
                | NodeFault::CountersAhead
        );
        if lasts {
            tokio::select! {
                () = sleep(span) => {}
                () = ended => {}
            }
        }
        match fault {
            NodeFault::Freeze => node.thaw(),
            NodeFault::RestartKept => node.restart().await,
            NodeFault::RestartEmpty => restart_empty(node).await,
            NodeFault::Cut
            | NodeFault::LoseRequests
            | NodeFault::LoseAnswers
            | NodeFault::HoldRequests
            | NodeFault::HoldAnswers
            | NodeFault::Delay => proxy.restore().await,
            NodeFault::Sever
            | NodeFault::ScriptFlush
            | NodeFault::ClientKill
            | NodeFault::CountersAhead => {}
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
        let present = self.keys();
        let is_too_long = |(_, name, left): &&Found<'_>| {
            let longest = Purpose::of(name).longest();
            longest.is_some_and(|longest| left.left().is_none_or(|left| left > longest))
        };
        let mut leaked: Vec<_> = present.iter().filter(is_too_long).map(describe).collect();
        let passes = |(_, name, _): &&Found<'_>| Purpose::of(name).passes();
        let passing = present.iter().filter(passes);
        let longest = passing.filter_map(|(.., left)| left.left()).max();
        if leaked.is_empty()
            && let Some(longest) = longest
        {
            // As the nodes count it, by the clock that we have in common. Nobody sets a key any more.
            sleep(longest).await;
            let present = self.keys();
            leaked.extend(present.iter().filter(passes).map(describe));
        }
        leaked
    }

    fn keys(&self) -> Vec<Found<'_>> {
        let keys = self.nodes.iter().flat_map(|node| {
            let keys = node.keys().into_iter();
            keys.map(move |key| (node, key.escape_ascii().to_string(), node.pttl(&key)))
        });
        keys.filter(|(.., left)| *left != Pttl::Missing).collect()
    }
}

/// A key on a node, and its time to live.
type Found<'a> = (&'a RedisNode, String, Pttl);

/// What a key is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// A lock, a permit or the list of a lock's readers.
    Lock,
    /// What callers that wait leave for others.
    Advice,
    /// Counters.
    Record,
    /// What the restart check leaves.
    Marker,
}

impl Purpose {
    fn of(name: &str) -> Self {
        let Some((_, kind)) = name.split_once("redlock:") else {
            return Self::Lock;
        };
        let is = |prefix| kind.starts_with(prefix);
        if is("permit:") || is("readers:") {
            Self::Lock
        } else if is("intent:") || is("turn:") {
            Self::Advice
        } else if is("fence:") {
            Self::Record
        } else {
            Self::Marker
        }
    }

    /// The longest time to live; a key without one lives for ever. `None`: it may.
    fn longest(self) -> Option<Duration> {
        match self {
            Self::Lock => Some(LONGEST_TTL),
            Self::Advice => Some(LONGEST_ADVICE),
            Self::Record => Some(LONGEST_RECORD),
            Self::Marker => None,
        }
    }

    /// True if it has to be gone soon after the last client.
    fn passes(self) -> bool {
        matches!(self, Self::Lock | Self::Advice)
    }
}

fn describe((node, name, left): &Found<'_>) -> String {
    format!("{name} on {node}, {left:?}")
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

async fn restart_empty(node: &RedisNode) {
    let file = node.dir().join("appendonlydir");
    std::fs::remove_dir_all(&file)
        .unwrap_or_else(|error| panic!("cannot remove {}: {error}", file.display()));
    node.restart().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_key_beside_a_lock_that_outlives_its_bound_is_found() {
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
    async fn a_node_is_well_after_every_fault_and_only_some_lose_its_keys() {
        let cluster = Cluster::start(1).await;
        let node = &cluster.nodes[0];
        for fault in NodeFault::ALL {
            node.set("r", "token", None);
            let at_once = std::future::ready(());
            cluster
                .inflict(0, fault, Duration::from_millis(50), at_once)
                .await;
            assert!(node.is_reachable(), "{fault:?}");
            let forgets = fault == NodeFault::RestartEmpty;
            assert_eq!(node.get("r").is_none(), forgets, "{fault:?}");
        }
    }
}
