//! A Redis Cluster of real servers.

mod slots;

use crate::eventually::eventually_for;
use crate::nodes::is_auxiliary;
use crate::{Authority, NodeOptions, RedisNode};
use std::fmt::Write as _;
use std::ops::Index;
use std::panic::Location;
use std::time::{Duration, Instant};

const SLOTS: u16 = 16_384;

/// The longest time that a Cluster may take to form, or to obey a command.
const FORMING: Duration = Duration::from_secs(60);

/// The time in ms for which a master may be silent before the others consider it dead.
///
/// It is long because a server on a busy machine is slow, but alive. A test that kills or freezes a master calls
/// [`RedisCluster::until_replaced`].
const UNTIL_TOLD: &str = "600000";

/// The time in ms for which a master may be silent while it is to be replaced.
///
/// Servers wait for twice this time before they vote again.
const BRIEFLY: &str = "2000";

/// Masters and their replicas.
///
/// `cluster[0]` is the first master. The masters are followed by the replicas of each, in the order of the masters. The
/// roles change by a failover, which happens only in [`hand_over`](Self::hand_over) and
/// [`until_replaced`](Self::until_replaced).
#[derive(Debug)]
pub struct RedisCluster {
    nodes: Vec<RedisNode>,
    password: Option<String>,
    scheme: &'static str,
}

impl RedisCluster {
    /// Starts three masters, each with `replicas`, and returns once all of them agree that all is well.
    pub async fn start(replicas: usize) -> Self {
        Self::start_with(replicas, None, &[]).await
    }

    /// Starts a Cluster with a password and more directives of `redis.conf`.
    pub async fn start_with(
        replicas: usize,
        password: Option<&str>,
        directives: &[(&str, &str)],
    ) -> Self {
        let mut cluster = Self::start_from(replicas, || {
            let mut options = NodeOptions::default();
            for (directive, value) in directives {
                options = options.arg(directive, value);
            }
            match password {
                Some(password) => options.password(password).arg("masterauth", password),
                None => options,
            }
        })
        .await;
        cluster.password = password.map(str::to_owned);
        cluster
    }

    /// Starts three masters that speak only TLS, also to each other.
    pub async fn start_over_tls(authority: &Authority) -> Self {
        let options = || NodeOptions::default().tls(authority);
        let mut cluster = Self::start_from(0, || options().arg("tls-cluster", "yes")).await;
        cluster.scheme = "rediss";
        cluster
    }

    async fn start_from(replicas: usize, options: impl Fn() -> NodeOptions) -> Self {
        let starting: Vec<_> = (0..3 * (1 + replicas))
            .map(|_| {
                let options = options()
                    .clustered()
                    .arg("cluster-node-timeout", UNTIL_TOLD)
                    .arg("cluster-require-full-coverage", "no")
                    .arg("cluster-allow-replica-migration", "no")
                    .arg("repl-diskless-sync-delay", "0");
                tokio::spawn(RedisNode::start_with(options))
            })
            .collect();
        let mut nodes = Vec::with_capacity(starting.len());
        for node in starting {
            let node = node.await;
            nodes.push(node.unwrap_or_else(|e| std::panic::resume_unwind(e.into_panic())));
        }
        let cluster = Self {
            nodes,
            password: None,
            scheme: "redis",
        };
        cluster.form().await;
        cluster
    }

    /// `redis+cluster://…` with all servers as seeds.
    pub fn url(&self) -> String {
        let servers: Vec<_> = self.nodes.iter().map(|it| it.addr().to_string()).collect();
        self.url_of(&servers.join(","))
    }

    /// Returns the URL with the seeds of a test's choice.
    pub fn url_of(&self, seeds: &str) -> String {
        let scheme = self.scheme;
        match &self.password {
            Some(password) => format!("{scheme}+cluster://:{password}@{seeds}"),
            None => format!("{scheme}+cluster://{seeds}"),
        }
    }

    /// Returns all servers.
    pub fn servers(&self) -> &[RedisNode] {
        &self.nodes
    }

    /// Waits until the servers have replaced the killed or frozen master of `slot` by its replica `to`.
    #[track_caller]
    pub fn until_replaced(&self, slot: u16, to: usize) -> impl Future<Output = ()> {
        let owned = self.until_owned(slot, to);
        async move {
            self.have_patience(BRIEFLY);
            owned.await;
            self.have_patience(UNTIL_TOLD);
        }
    }

    /// Sets the time in ms for which a master may be silent.
    fn have_patience(&self, ms: &str) {
        for node in self.nodes.iter().filter(|node| node.is_reachable()) {
            node.command(["CONFIG", "SET", "cluster-node-timeout", ms]);
        }
    }

    /// Makes the replica `to` the master of `slot` by a manual failover, once the replica is up to date.
    pub async fn hand_over(&self, slot: u16, to: usize) {
        // The longest time that a failover takes. A command before that would begin another failover.
        const PATIENCE: Duration = Duration::from_secs(6);
        let replica = &self.nodes[to];
        let mut asked: Option<Instant> = None;
        // Shorten the time: servers vote only once in twice this time for a replica of one master.
        self.have_patience(BRIEFLY);
        eventually_for(Location::caller(), "a handover", FORMING, || {
            let is_done = self.master_of(slot) == Some(to);
            let link = replica.info("master_link_status");
            let is_due = asked.is_none_or(|asked| asked.elapsed() > PATIENCE);
            if !is_done && link.as_deref() == Some("up") && is_due {
                let begun: Result<(), _> = replica.try_command(["CLUSTER", "FAILOVER"]);
                asked = begun.is_ok().then(Instant::now);
            }
            let missing = format!("the link is {link:?}, asked {asked:?}");
            std::future::ready(if is_done { Ok(()) } else { Err(missing) })
        })
        .await;
        self.have_patience(UNTIL_TOLD);
    }

    /// Waits until all reachable servers have no key of a lock. Panics after `within`, with the keys that are left.
    #[track_caller]
    pub fn assert_no_lock_keys(&self, within: Duration) -> impl Future<Output = ()> {
        let caller = Location::caller();
        eventually_for(caller, "no key to be left", within, move || async move {
            let mut left = String::new();
            for node in self.nodes.iter().filter(|node| node.is_reachable()) {
                for key in node.keys().iter().filter(|key| !is_auxiliary(key)) {
                    // Writing to a string does not fail.
                    let _ = write!(left, "\n  {node}: {}", key.escape_ascii());
                }
            }
            if left.is_empty() { Ok(()) } else { Err(left) }
        })
    }

    /// Turns a replica into a master without slots.
    pub async fn make_master(&self, index: usize) {
        let node = &self.nodes[index];
        node.command(["CLUSTER", "RESET", "SOFT"]);
        self.meet(node);
        let known = format!("{} ", id(node));
        eventually_for(Location::caller(), "a new master", FORMING, async || {
            for other in &self.nodes {
                let nodes: String = other
                    .try_command(["CLUSTER", "NODES"])
                    .expect("CLUSTER NODES");
                let line = nodes.lines().find(|line| line.starts_with(&known));
                if !line.is_some_and(|line| line.contains("master")) {
                    return Err(nodes);
                }
            }
            let info: String = node.try_command(["CLUSTER", "INFO"]).expect("CLUSTER INFO");
            if is_whole(&info) { Ok(()) } else { Err(info) }
        })
        .await;
    }

    fn meet(&self, node: &RedisNode) {
        let config: Vec<String> = node
            .try_command(["CONFIG", "GET", "cluster-port"])
            .expect("CONFIG GET");
        let port = node.port().to_string();
        self.nodes[0].command(["CLUSTER", "MEET", "127.0.0.1", &port, &config[1]]);
    }

    async fn form(&self) {
        let masters = 3;
        for (index, node) in self.nodes.iter().enumerate() {
            node.command(["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]);
        }
        for node in &self.nodes[1..] {
            self.meet(node);
        }
        for (index, node) in self.nodes[..masters].iter().enumerate() {
            let mut add = vec!["CLUSTER".to_owned(), "ADDSLOTS".to_owned()];
            let slots = (0..SLOTS).filter(|slot| usize::from(slot / share()).min(2) == index);
            add.extend(slots.map(|slot| slot.to_string()));
            node.command(add);
        }
        let here = Location::caller();
        for (index, node) in self.nodes.iter().enumerate().skip(masters) {
            let master = id(&self.nodes[index % masters]);
            eventually_for(here, "a replica to know its master", FORMING, async || {
                let replicate = ["CLUSTER", "REPLICATE", &master];
                let done: Result<(), _> = node.try_command(replicate);
                done.map_err(|error| error.to_string())
            })
            .await;
        }
        let replicas = self.nodes.len() / masters - 1;
        for (index, node) in self.nodes.iter().enumerate() {
            eventually_for(here, "the Cluster to form", FORMING, async || {
                let info: String = node.try_command(["CLUSTER", "INFO"]).expect("CLUSTER INFO");
                let known = format!("cluster_known_nodes:{}", self.nodes.len());
                let is_whole = is_whole(&info) && info.contains(&known);
                let is_linked =
                    index < masters || node.info("master_link_status").as_deref() == Some("up");
                let has_replicas =
                    index >= masters || node.info("connected_slaves") == Some(replicas.to_string());
                if is_whole && is_linked && has_replicas {
                    Ok(())
                } else {
                    Err(info)
                }
            })
            .await;
        }
    }
}

/// True if a server with this `CLUSTER INFO` knows all slots and can reach their masters.
fn is_whole(info: &str) -> bool {
    info.contains("cluster_state:ok") && info.contains("cluster_slots_assigned:16384")
}

/// Returns the number of slots that each master has at first. The last master also has the remainder.
fn share() -> u16 {
    SLOTS / 3
}

/// Returns the name by which the Cluster knows a server.
fn id(node: &RedisNode) -> String {
    node.try_command(["CLUSTER", "MYID"]).expect("CLUSTER MYID")
}

impl Index<usize> for RedisCluster {
    type Output = RedisNode;

    fn index(&self, index: usize) -> &RedisNode {
        &self.nodes[index]
    }
}
