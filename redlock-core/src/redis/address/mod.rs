//! The address of a node and its login, parsed from a URL.

mod server;

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ::redis::{AsyncConnectionConfig, Client};

use crate::model::invalid::Invalid;
pub(super) use server::{Opener, Server};

use super::options::TlsOptions;
use super::secret_file::password;

/// A node's address and credentials. `Debug` and `Display` show no password.
#[derive(Clone, Debug)]
pub struct RedisAddress(pub(super) Target);

/// The kind of Redis service at an address.
#[derive(Clone, Debug)]
pub(super) enum Target {
    /// One server.
    Server(Server),
    /// The master that the sentinels name.
    Sentinel(Sentinel),
    /// A Redis Cluster, by some of its servers. Each of them knows the whole Cluster.
    Cluster(Vec<Server>),
}

/// A master that may move, and the sentinels that know its address.
#[derive(Clone, Debug)]
pub(super) struct Sentinel {
    /// One sentinel or more, with the login for sentinels.
    pub(super) sentinels: Vec<Server>,
    /// The master's name among the sentinels.
    pub(super) master: String,
    /// A template for the master: its login and TLS, with the address of a sentinel.
    pub(super) of_master: Server,
}

impl RedisAddress {
    /// Parses one of
    /// * `redis://[user[:password]@]host[:port][/db]`, `rediss://…` for TLS;
    /// * `redis+unix:///path[?db=n&user=…&pass=…]`;
    /// * `redis+sentinel://[user[:password]@]host[:port],…/master[/db]`, where the login is the
    ///   master's (`?sentinel_login=[user]:password` is that for the sentinels), `rediss+sentinel` for
    ///   TLS to all of them;
    /// * `redis+cluster://[user[:password]@]host[:port],…`, `rediss+cluster` for TLS.
    ///
    /// A user without a password logs in with an empty password.
    ///
    /// # Errors
    /// [`Invalid`] if the URL cannot be parsed, or has another scheme or parameter. The error shows no password.
    pub fn parse(url: &str) -> Result<Self, Invalid> {
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        let lacks = |feature| {
            Err(Invalid::new(format!(
                "this build leaves out what the URL needs; enable the feature `{feature}` of `redlock-runtime`"
            )))
        };
        let is_tls = scheme.starts_with("rediss") || scheme.starts_with("valkeys");
        if is_tls && !cfg!(feature = "tls") {
            return lacks("tls");
        }
        Ok(Self(match scheme.split_once('+') {
            Some((_, "sentinel")) if !cfg!(feature = "sentinel") => return lacks("sentinel"),
            Some((_, "cluster")) if !cfg!(feature = "cluster") => return lacks("cluster"),
            Some((redis, "sentinel")) => Target::Sentinel(sentinel(redis, rest)?),
            Some((redis, "cluster")) => Target::Cluster(cluster(redis, rest)?),
            _ => Target::Server(Server::parse(url)?),
        }))
    }

    /// Returns the address of a user's own client, with its login, database and TLS. `config` may bring a provider of
    /// credentials. Its timeouts, limits and push sender are ignored.
    ///
    /// # Errors
    /// [`Invalid`] if the client's kind of address is unknown.
    ///
    /// ```
    /// # use redlock_core::redis::RedisAddress;
    /// let client = redis::Client::open("redis://10.0.0.1:6379")?;
    /// let address = RedisAddress::of_client(&client, None)?;
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn of_client(
        client: &Client,
        config: Option<AsyncConnectionConfig>,
    ) -> Result<Self, Invalid> {
        let info = client.get_connection_info().clone();
        // Make the concurrency limit unreachable. A limit would change the order of commands, and the crate cannot
        // remove one.
        let config = config.map(|config| config.set_concurrency_limit(usize::MAX));
        let server = Server::new(info, config.unwrap_or_default());
        let unknown = || Invalid::new("the client's kind of address is not supported");
        Ok(Self(Target::Server(
            server.ok_or_else(unknown)?.of_a_client(),
        )))
    }

    /// Returns this address, with TLS verified by `options`. Reads all files, to find their faults before it connects.
    ///
    /// # Errors
    /// [`Invalid`] if a file cannot be used, or if the address has no TLS although there are options. The error names
    /// the setting and the fault, and never shows a file's content.
    pub fn with_tls(mut self, options: TlsOptions) -> Result<Self, Invalid> {
        if options == TlsOptions::default() {
            return Ok(self);
        }
        let tls = Arc::new(options);
        for server in self.servers() {
            if !server.is_tls() {
                return Err(Invalid::new(
                    "`tls_ca`, `tls_cert` and `tls_key` are for TLS, and the URL is not; write \
                     rediss:// for redis://, or leave them out",
                ));
            }
            server.tls = Arc::clone(&tls);
        }
        #[cfg(feature = "tls")]
        super::tls::config(&tls)?;
        Ok(self)
    }

    /// Returns this address with a password file, read at each connection. With sentinels, the password is for the
    /// master only.
    ///
    /// # Errors
    /// [`Invalid`], without the file's content, if the file cannot be used or the URL has a password too.
    pub fn with_password_file(mut self, path: &Path) -> Result<Self, Invalid> {
        password(path)?;
        let servers = match &mut self.0 {
            Target::Sentinel(it) => vec![&mut it.of_master],
            _ => self.servers(),
        };
        for server in servers {
            let login = server.info()?;
            let own = login.redis_settings().password().unwrap_or_default();
            if !own.is_empty() {
                let text =
                    "the URL has a password, and `password_file` is set too; leave one of them out";
                return Err(Invalid::new(text));
            }
            server.password_file = Some(path.into());
        }
        Ok(self)
    }

    fn servers(&mut self) -> Vec<&mut Server> {
        match &mut self.0 {
            Target::Server(server) => vec![server],
            Target::Sentinel(it) => it.sentinels.iter_mut().chain([&mut it.of_master]).collect(),
            Target::Cluster(seeds) => seeds.iter_mut().collect(),
        }
    }

    /// True for the address of a Redis Cluster.
    pub fn is_cluster(&self) -> bool {
        matches!(self.0, Target::Cluster(_))
    }

    /// True if a replica may replace the server. The replica may lack the newest writes.
    pub fn fails_over(&self) -> bool {
        !matches!(self.0, Target::Server(_))
    }
}

/// Returns the error for an invalid URL. Shows no part of the URL, because a `#` or `/` in a password makes a part of
/// the password look like a host.
fn not_a_url() -> Invalid {
    Invalid::new(
        "this is not a node's URL (one pool is one node); write redis://[[user]:password@]host:port[/db], rediss://host:port, \
         redis+unix:///path, redis+sentinel://host:port,host:port/master[/db][?sentinel_login=user:password], \
         redis+cluster://host:port,host:port (a Cluster has no other database) or memory://name",
    )
}

/// Splits `[user[:password]@]host[:port],…/path?query` into login, path, query, and hosts. The login ends with its `@`.
fn several(rest: &str) -> ([&str; 3], Vec<&str>) {
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (login, rest) = rest.split_at(rest.rfind('@').map_or(0, |at| at + 1));
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    ([login, path, query], hosts.split(',').collect())
}

/// The value of `known` in [`check_query`] for a URL without parameters.
const NO_PARAMETERS: &str = "none for this kind of URL";

/// Refuses a query with a parameter that is unknown or occurs twice. `known` names the allowed parameters.
fn check_query(query: &str, known: &str) -> Result<(), Invalid> {
    // Show only these names, because any other name may be a part of a password.
    const SHOWN_NAMES: &str = "`db` `user` `pass` `password` `protocol` `sentinel_login`";
    let mut left = known.to_owned();
    for part in query.split('&').filter(|_| !query.is_empty()) {
        let name = format!("`{}`", part.split('=').next().unwrap_or_default());
        if !left.contains(&name) {
            let shown = Some(&*name).filter(|it| SHOWN_NAMES.contains(it));
            let shown = shown.unwrap_or("(not shown)");
            let text = format!("unknown parameter {shown} in the URL; there are {known}");
            return Err(Invalid::new(text));
        }
        left = left.replacen(&name, "", 1);
    }
    Ok(())
}

fn cluster(redis: &str, rest: &str) -> Result<Vec<Server>, Invalid> {
    let ([login, path, query], hosts) = several(rest);
    check_query(query, NO_PARAMETERS)?;
    if !matches!(path, "" | "0") {
        return Err(not_a_url());
    }
    let seed = |host: &&str| Server::parse(&format!("{redis}://{login}{host}"));
    hosts.iter().map(seed).collect()
}

fn sentinel(redis: &str, rest: &str) -> Result<Sentinel, Invalid> {
    let ([login, path, query], hosts) = several(rest);
    let (master, db) = path.split_once('/').unwrap_or((path, "0"));
    check_query(query, "`sentinel_login`, once, with `&` in it as %26")?;
    let login_there = query.strip_prefix("sentinel_login=").unwrap_or_default();
    if master.is_empty() || login_there.contains(':') == query.is_empty() {
        return Err(not_a_url());
    }
    let at = if query.is_empty() { "" } else { "@" };
    let sentinels = hosts.iter().map(|host| {
        let has_port = host.contains(':') && !host.ends_with([']', ':']);
        let port = if has_port { "" } else { ":26379" };
        Server::parse(&format!("{redis}://{login_there}{at}{host}{port}"))
    });
    Ok(Sentinel {
        sentinels: sentinels.collect::<Result<_, _>>()?,
        master: master.to_owned(),
        of_master: Server::parse(&format!("{redis}://{login}{}/{db}", hosts[0]))?,
    })
}

/// Shows only the servers, because two pools on one server are one node. Users and databases make no difference.
impl fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = |servers: &[Server]| {
            let mut servers: Vec<_> = servers.iter().map(Server::to_string).collect();
            // Sort the servers, so that their order in the URL has no effect.
            servers.sort();
            servers.join(", ")
        };
        match &self.0 {
            Target::Server(server) => server.fmt(f),
            Target::Sentinel(it) => write!(f, "{} of {}", it.master, listed(&it.sentinels)),
            Target::Cluster(seeds) => write!(f, "the cluster of {}", listed(seeds)),
        }
    }
}

#[cfg(test)]
pub(super) mod tests;
