//! A master with replicas, and the sentinels that watch it.

use std::collections::HashMap;
use std::time::Duration;

use redis::RedisResult;

use crate::{Authority, NodeOptions, Nodes, RedisNode, eventually};

/// The longest time for a failover. It takes seconds on an idle machine.
const SOON: Duration = Duration::from_secs(40);

/// The time in ms for which a server may be silent before sentinels consider it dead.
///
/// It is long because a server on a busy machine is slow, but alive. A test that kills or freezes the master starts the
/// failover by a command, which does not require a dead master, or shortens this time.
const NEVER_DOWN: &str = "600000";
/// The time in ms for each step of a failover. Sentinels do not repeat a failover that timed out.
const NEVER_GIVEN_UP: &str = "600000";

/// The options of a group: passwords, TLS, and directives of `redis.conf`.
#[derive(Clone, Debug, Default)]
pub struct SentinelOptions {
    servers: NodeOptions,
    has_one_replica: bool,
    password: Option<String>,
    sentinels: NodeOptions,
}

impl SentinelOptions {
    /// Makes a group with one replica instead of two.
    #[must_use]
    pub fn one_replica(mut self) -> Self {
        self.has_one_replica = true;
        self
    }

    /// Sets the password of the master and the replicas. Letters and digits only.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        let servers = std::mem::take(&mut self.servers);
        self.servers = servers.password(password).arg("masterauth", password);
        self.password = Some(password.to_owned());
        self
    }

    /// Sets the password of the sentinels. Letters and digits only.
    #[must_use]
    pub fn sentinel_password(mut self, password: &str) -> Self {
        self.sentinels = self.sentinels.password(password);
        self
    }

    /// Makes all processes speak only TLS, also with each other.
    #[must_use]
    pub fn tls(mut self, authority: &Authority) -> Self {
        let speaking = |options: NodeOptions| options.tls(authority).arg("tls-replication", "yes");
        self.servers = speaking(self.servers);
        self.sentinels = speaking(self.sentinels);
        self
    }

    /// Adds a directive of `redis.conf` for the master and the replicas.
    #[must_use]
    pub fn arg(mut self, directive: &str, value: &str) -> Self {
        self.servers = self.servers.arg(directive, value);
        self
    }
}

/// A group of one master, two replicas or one, and three sentinels, which call the master `shop`.
///
/// A failover happens only in [`fail_over`](Self::fail_over) and [`until_replaced`](Self::until_replaced).
#[derive(Debug)]
pub struct SentinelGroup {
    /// The master and the replicas. At the beginning, the first one is the master.
    pub servers: Nodes,
    /// The sentinels that watch the master.
    pub sentinels: Nodes,
}

impl SentinelGroup {
    /// Starts a group without passwords.
    pub async fn start() -> Self {
        Self::start_with(SentinelOptions::default()).await
    }

    /// Starts a group; returns when everybody knows of everybody.
    pub async fn start_with(options: SentinelOptions) -> Self {
        let plain = options.servers.arg("repl-diskless-sync-delay", "0");
        let master = RedisNode::start_with(plain.clone()).await;
        let count = if options.has_one_replica { 1 } else { 2 };
        let replicas = Nodes::start_with(count, plain.replica_of(&master)).await;
        eventually("the replicas to follow", SOON, async || {
            let links: Vec<_> = replicas
                .iter()
                .map(|it| it.info("master_link_status"))
                .collect();
            let are_up = links.iter().all(|link| link.as_deref() == Some("up"));
            are_up.then_some(()).ok_or(format!("{links:?}"))
        })
        .await;
        let login = options.password.map_or(String::new(), |password| {
            format!("sentinel auth-pass shop {password}\n")
        });
        let configuration = format!(
            "sentinel monitor shop 127.0.0.1 {} 2\n\
             sentinel down-after-milliseconds shop {NEVER_DOWN}\n\
             sentinel failover-timeout shop {NEVER_GIVEN_UP}\n\
             sentinel parallel-syncs shop 2\n\
             {login}",
            master.port(),
        );
        let sentinels = Nodes::start_with(3, options.sentinels.sentinel(&configuration)).await;
        let group = Self {
            servers: [master].into_iter().chain(replicas.into_nodes()).collect(),
            sentinels,
        };
        for sentinel in &group.sentinels {
            hurry(sentinel);
        }
        for sentinel in &group.sentinels {
            eventually("the sentinels to know each other", SOON, async || {
                let known: HashMap<String, String> = sentinel
                    .try_command(["SENTINEL", "MASTER", "shop"])
                    .map_err(|error| error.to_string())?;
                let is = |field: &str, count: usize| known.get(field) == Some(&count.to_string());
                let knows_all = is("num-slaves", count) && is("num-other-sentinels", 2);
                knows_all.then_some(()).ok_or(format!("{known:?}"))
            })
            .await;
        }
        group
    }

    /// `redis+sentinel://…/shop`, or `rediss+sentinel`, with the passwords.
    pub fn url(&self) -> String {
        let url = self.servers[0].url();
        let (scheme, _) = url.split_once("://").expect("a URL");
        let login = |node: &RedisNode| {
            let url = node.url();
            let (_, rest) = url.split_once("://").expect("a URL");
            rest.split_once('@').map(|(login, _)| login.to_owned())
        };
        let hosts: Vec<_> = self
            .sentinels
            .iter()
            .map(|it| it.addr().to_string())
            .collect();
        let of_master = login(&self.servers[0]).map_or(String::new(), |login| login + "@");
        let query = login(&self.sentinels[0])
            .map_or(String::new(), |login| format!("?sentinel_login={login}"));
        format!(
            "{scheme}+sentinel://{of_master}{}/shop{query}",
            hosts.join(",")
        )
    }

    /// Returns the master on which all reachable sentinels agree.
    pub async fn master(&self) -> &RedisNode {
        eventually("the sentinels to name one master", SOON, async || {
            self.named()
        })
        .await
    }

    /// Makes another server the master, as an operator does (`SENTINEL FAILOVER`).
    ///
    /// Returns the previous master, once all sentinels name another.
    pub async fn fail_over(&self) -> &RedisNode {
        let before = self.master().await;
        self.until_replaced(before).await;
        before
    }

    /// Makes the sentinels replace the killed or frozen master `lost`.
    ///
    /// Returns once all reachable sentinels name another master.
    pub async fn until_replaced(&self, lost: &RedisNode) {
        let sentinel = self.reachable().next().expect("a sentinel that answers");
        eventually("a failover to begin", SOON, async || {
            let begun: RedisResult<()> = sentinel.try_command(["SENTINEL", "FAILOVER", "shop"]);
            begun.map_err(|error| error.to_string())
        })
        .await;
        self.until_another_than(lost).await;
    }

    /// Waits until `server` follows the master.
    pub async fn until_replica(&self, server: &RedisNode) {
        eventually("the old master to follow the new one", SOON, async || {
            // A server closes its connections when it becomes a replica, so errors are expected.
            let info: RedisResult<String> = server.try_command(["INFO", "replication"]);
            let info = info.map_err(|error| error.to_string())?;
            let is_up = info.contains("role:slave") && info.contains("master_link_status:up");
            is_up.then_some(()).ok_or(info)
        })
        .await;
    }

    /// Waits until a key is on all servers, because a failover would lose it otherwise.
    pub async fn until_replicated(&self, key: &str) {
        eventually("the key on all servers", SOON, async || {
            let values = self.servers.values_of(key);
            let is_everywhere = values.iter().all(Option::is_some);
            is_everywhere.then_some(()).ok_or(format!("{values:?}"))
        })
        .await;
    }

    async fn until_another_than(&self, before: &RedisNode) {
        eventually("another master", SOON, async || {
            let master = self.named()?;
            if master.port() == before.port() {
                return Err(format!("{master} still is the master"));
            }
            let info: RedisResult<String> = master.try_command(["INFO", "replication"]);
            let info = info.map_err(|error| error.to_string())?;
            let is_master = info.contains("role:master");
            is_master.then_some(()).ok_or(info)
        })
        .await;
    }

    fn named(&self) -> Result<&RedisNode, String> {
        let mut named = None;
        for sentinel in self.reachable() {
            let place: RedisResult<(String, u16)> =
                sentinel.try_command(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "shop"]);
            let (_, port) = place.map_err(|error| error.to_string())?;
            if named.is_some_and(|named| named != port) {
                return Err("they name several".to_owned());
            }
            named = Some(port);
        }
        let is_named = |server: &&RedisNode| Some(server.port()) == named;
        let master = self.servers.iter().find(is_named);
        master.ok_or_else(|| format!("a stranger is named: {named:?}"))
    }

    fn reachable(&self) -> impl Iterator<Item = &RedisNode> {
        self.sentinels.iter().filter(|it| it.is_reachable())
    }
}

/// Makes a sentinel query and publish more often than by default, which is every one to ten seconds.
///
/// It also switches off the tilt mode, in which a sentinel on a busy machine would take delays for jumps of the clock
/// and do nothing for half a minute.
fn hurry(sentinel: &RedisNode) {
    let pace = "info-period 500 ask-period 200 publish-period 300 tilt-trigger 600000";
    sentinel.command(["SENTINEL", "DEBUG"].into_iter().chain(pace.split(' ')));
}
