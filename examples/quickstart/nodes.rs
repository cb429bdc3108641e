//! The nodes of the tour, and the ways to lose them.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

use redlock_runtime::Config;
use redlock_runtime::health::NodeStatus;
use redlock_runtime::registry::{MemoryNode, Registry};
use tokio::time::{sleep, timeout};

use crate::proxy::Proxy;

const DEFAULT_FILE: &str = "redlock.toml";

/// How long a node may take to be seen as lost, or as back.
const NOTICED_WITHIN: Duration = Duration::from_secs(20);

/// All pools of the configuration: each is one node.
pub(crate) struct Nodes {
    registry: Option<Registry>,
    by_name: BTreeMap<String, Node>,
    is_embedded: bool,
}

/// How a node can be lost.
enum Node {
    Embedded(MemoryNode),
    Behind(Proxy),
    /// Not by this program: it has no `redis://` URL.
    OutOfReach,
}

impl Nodes {
    /// Three embedded nodes, unless the environment or a file configures others.
    pub(crate) async fn choose() -> Result<(Config, Self), Box<dyn Error>> {
        let file = std::env::var_os("REDLOCK_CONFIG").map(PathBuf::from);
        let file = file.or_else(|| {
            let default = PathBuf::from(DEFAULT_FILE);
            default.exists().then_some(default)
        });
        let mut urls: BTreeMap<_, _> = urls_of_environment().collect();
        let is_embedded = file.is_none() && urls.is_empty();
        let mut config = if is_embedded {
            urls.extend(["a", "b", "c"].map(|name| (name.into(), format!("memory://{name}"))));
            Config::new()
        } else {
            Config::load()?
        };
        if let Some(path) = file {
            for (name, url) in urls_of_file(&path)? {
                // The environment wins, in the one spelling that a variable's name can have.
                let spelled = name.to_ascii_lowercase().replace('-', "_");
                let url = urls.remove(&spelled).unwrap_or(url);
                urls.insert(name, url);
            }
        }
        let mut by_name = BTreeMap::new();
        let mut targets = BTreeSet::new();
        for (name, url) in urls {
            let mut node = Node::OutOfReach;
            let mut url = url;
            if let Some((before, target, after)) = split_tcp_url(&url) {
                // Behind proxies, `init` could not see it.
                if !targets.insert(target.clone()) {
                    return Err(format!("two pools are one server, {target}").into());
                }
                let proxy = Proxy::start(target).await?;
                url = format!("{before}{}{after}", proxy.address());
                node = Node::Behind(proxy);
            }
            config = config.pool(&name, url);
            by_name.insert(name, node);
        }
        // Every node that the tour loses must have a vote.
        let config = config.default_pools(by_name.keys());
        let nodes = Self {
            registry: None,
            by_name,
            is_embedded,
        };
        Ok((config, nodes))
    }

    /// Looks at the nodes through `registry` from here on.
    pub(crate) fn watch(&mut self, registry: &Registry) {
        for (name, node) in &mut self.by_name {
            if let Some(memory) = registry.memory_node(name) {
                *node = Node::Embedded(memory.clone());
            }
        }
        self.registry = Some(registry.clone());
    }

    pub(crate) fn describe(&self) -> String {
        let names: Vec<_> = self.by_name.keys().map(String::as_str).collect();
        let names = names.join(", ");
        if self.is_embedded {
            return format!("{names}, embedded in this process: nothing else is configured");
        }
        let alone = self.by_name.iter().filter_map(|(name, node)| {
            let is_alone = matches!(node, Node::OutOfReach);
            is_alone.then_some(name.as_str())
        });
        let alone = alone.collect::<Vec<_>>().join(", ");
        if alone.is_empty() {
            format!("{names}, as configured; Redis servers behind a proxy each")
        } else {
            format!("{names}, as configured; {alone} cannot be lost, for want of a redis:// URL")
        }
    }

    /// The last `count` nodes, where all of them can be lost.
    pub(crate) fn last(&self, count: usize) -> Option<Vec<String>> {
        let last = self.by_name.iter().rev().take(count);
        let can_lose = |(_, node): &(&String, &Node)| !matches!(node, Node::OutOfReach);
        let mut names: Vec<_> = last
            .filter(can_lose)
            .map(|(name, _)| name.clone())
            .collect();
        names.reverse();
        (count > 0 && names.len() == count).then_some(names)
    }

    /// How many nodes can be lost without harm.
    pub(crate) fn minority(&self) -> usize {
        self.len().saturating_sub(1) / 2
    }

    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    /// Cuts `names` off, and waits until the library has noticed.
    pub(crate) async fn lose(&mut self, names: &[String]) -> Result<(), Box<dyn Error>> {
        for name in names {
            match self.by_name.get_mut(name) {
                Some(Node::Embedded(memory)) => memory.cut(),
                Some(Node::Behind(proxy)) => proxy.close().await,
                Some(Node::OutOfReach) | None => {}
            }
        }
        self.until(names, |status| !matches!(status, NodeStatus::Voting))
            .await
    }

    /// Undoes [`lose`](Self::lose), and waits until the nodes vote again.
    pub(crate) async fn bring_back(&mut self, names: &[String]) -> Result<(), Box<dyn Error>> {
        for name in names {
            match self.by_name.get_mut(name) {
                Some(Node::Embedded(memory)) => memory.restore(),
                Some(Node::Behind(proxy)) => proxy.open().await?,
                Some(Node::OutOfReach) | None => {}
            }
        }
        self.until(names, |status| matches!(status, NodeStatus::Voting))
            .await
    }

    /// One line: who votes, and who does not for which reason.
    pub(crate) fn health(&self) -> String {
        let health = self.registry.iter().flat_map(Registry::health);
        let nodes = health.map(|it| format!("{} {}", it.pool, it.status));
        nodes.collect::<Vec<_>>().join(", ")
    }

    /// What is left on the embedded nodes.
    pub(crate) fn keys_left(&self) -> Option<usize> {
        let embedded = self.by_name.values().filter_map(|node| match node {
            Node::Embedded(memory) => Some(memory.keys().len()),
            _ => None,
        });
        self.is_embedded.then(|| embedded.sum())
    }

    /// A node's health changes without an event that an application could wait for.
    async fn until(
        &self,
        names: &[String],
        is_so: impl Fn(&NodeStatus) -> bool,
    ) -> Result<(), Box<dyn Error>> {
        let noticed = async {
            let mut health = self.registry.iter().flat_map(Registry::health);
            while !health.all(|it| !names.contains(&it.pool) || is_so(&it.status)) {
                sleep(Duration::from_millis(5)).await;
                health = self.registry.iter().flat_map(Registry::health);
            }
        };
        timeout(NOTICED_WITHIN, noticed).await.map_err(|_| {
            let seconds = NOTICED_WITHIN.as_secs();
            format!("no change within {seconds} s: {}", self.health()).into()
        })
    }
}

/// `[pools.<name>] url = "…"`
fn urls_of_file(path: &Path) -> Result<BTreeMap<String, String>, Box<dyn Error>> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    // `Config::load` has the better message for a file that makes no sense.
    let file: toml::Table = text.parse().unwrap_or_default();
    let pools = file.get("pools").and_then(toml::Value::as_table);
    let urls = pools.into_iter().flatten().filter_map(|(name, pool)| {
        let url = pool.get("url")?.as_str()?;
        Some((name.clone(), url.to_owned()))
    });
    Ok(urls.collect())
}

/// `REDLOCK_POOLS_<NAME>_URL`
fn urls_of_environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os().filter_map(|(variable, url)| {
        let variable = variable.to_str()?;
        let name = variable
            .strip_prefix("REDLOCK_POOLS_")?
            .strip_suffix("_URL")?;
        Some((name.to_ascii_lowercase(), url.to_str()?.to_owned()))
    })
}

/// Takes `redis://user:password@host:port/db` apart around `host:port`.
fn split_tcp_url(url: &str) -> Option<(&str, String, &str)> {
    let rest = url.strip_prefix("redis://")?;
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, after) = rest.split_at(end);
    let start = authority.rfind('@').map_or(0, |at| at + 1);
    let place = &authority[start..];
    let has_port = place
        .rsplit_once(':')
        .is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let target = if has_port {
        place.to_owned()
    } else {
        format!("{place}:6379")
    };
    let before = &url[..url.len() - rest.len() + start];
    Some((before, target, after))
}
