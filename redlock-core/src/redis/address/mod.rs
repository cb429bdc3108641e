//! The address of a node and its login, from a URL.

mod server;

use std::fmt;
use std::path::Path;
#[cfg(feature = "tls")]
use std::sync::Arc;

use ::redis::{AsyncConnectionConfig, Client, IntoConnectionInfo as _};

use crate::model::invalid::Invalid;
pub(super) use server::Server;

use super::options::TlsOptions;
use super::secret_file;
#[cfg(feature = "tls")]
use super::tls::certificates;

/// A node's address and credentials. `Debug` and `Display` show no password.
#[derive(Clone)]
pub struct RedisAddress {
    pub(super) target: Target,
}

/// The kind of Redis at an address.
#[derive(Clone)]
pub(super) enum Target {
    /// One server.
    Server(Server),
    /// The master that the sentinels name.
    #[cfg(feature = "sentinel")]
    Sentinel(Sentinel),
    /// A Redis Cluster. Each of these servers knows all of it.
    #[cfg(feature = "cluster")]
    Cluster(Vec<Server>),
}

/// A master that may move, and the sentinels that know its address.
#[cfg(feature = "sentinel")]
#[derive(Clone)]
pub(super) struct Sentinel {
    /// At least one sentinel, with the login for sentinels.
    pub(super) sentinels: Vec<Server>,
    /// The master's name among the sentinels.
    pub(super) master: String,
    /// The master as a server, with its login and TLS, at the place of a sentinel.
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
    /// # Errors
    /// [`Invalid`], without the password, if the URL has another scheme or cannot be understood.
    pub fn parse(url: &str) -> Result<Self, Invalid> {
        let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
        for (part, feature, is_there) in [
            ("rediss", "tls", cfg!(feature = "tls")),
            ("redis+cluster", "cluster", cfg!(feature = "cluster")),
            ("redis+sentinel", "sentinel", cfg!(feature = "sentinel")),
        ] {
            if scheme.starts_with(part) && !is_there {
                return Err(left_out(feature));
            }
        }
        let target = match scheme {
            "redis" | "rediss" | "redis+unix" | "unix" => Target::Server(server(url)?),
            #[cfg(feature = "sentinel")]
            "redis+sentinel" | "rediss+sentinel" => Target::Sentinel(sentinel(url)?),
            #[cfg(feature = "cluster")]
            "redis+cluster" | "rediss+cluster" => Target::Cluster(cluster(url)?),
            _ => {
                return Err(Invalid::new(
                    "this is not a node's URL; write redis://host:port, rediss://host:port, \
                     redis+unix:///path, redis+sentinel://host:port,host:port/master, \
                     redis+cluster://host:port,host:port or memory://name",
                ));
            }
        };
        Ok(Self { target })
    }

    /// The server of a user's own client, with the client's login, database and TLS. `config` may bring a provider of
    /// credentials; its timeouts, limits and push sender are not used.
    ///
    /// # Errors
    /// [`Invalid`] if the client needs TLS and the build has none, or if its kind of address is unknown.
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
        // A limit cannot be taken away, and a limit that is ever reached would change the order of commands.
        let config = config.unwrap_or_default().set_concurrency_limit(usize::MAX);
        let server = Server::new(client.get_connection_info().clone(), config);
        let unknown = || Invalid::new("the client's kind of address is not supported");
        let server = server.ok_or_else(unknown)?;
        if server.is_tls() && !cfg!(feature = "tls") {
            return Err(left_out("tls"));
        }
        Ok(Self::of_server(server))
    }

    /// The same address, with TLS verified by `options`. All files are read, so that faults in them are
    /// known before the first connection.
    ///
    /// # Errors
    /// [`Invalid`] with the file and its fault, never with its content; also if there are options but
    /// no TLS.
    #[cfg_attr(not(feature = "tls"), expect(clippy::needless_pass_by_value))]
    pub fn with_tls(mut self, options: TlsOptions) -> Result<Self, Invalid> {
        if options == TlsOptions::default() {
            return Ok(self);
        }
        let servers = self.servers();
        if !servers.iter().all(|server| server.is_tls()) {
            return Err(Invalid::new(
                "`tls_ca`, `tls_cert` and `tls_key` are for TLS, and the URL is not; write \
                 rediss:// for redis://, or leave them out",
            ));
        }
        #[cfg(feature = "tls")]
        {
            certificates(&options)?;
            let tls = Arc::new(options);
            for server in servers {
                server.tls = Some(Arc::clone(&tls));
            }
        }
        Ok(self)
    }

    /// The same address, with the password in a file, which is read again at each connection. Under sentinels it is the
    /// master's.
    ///
    /// # Errors
    /// [`Invalid`] with the file and its fault, never with its content.
    pub fn with_password_file(mut self, path: &Path) -> Result<Self, Invalid> {
        secret_file::password(path)?;
        let servers = match &mut self.target {
            #[cfg(feature = "sentinel")]
            Target::Sentinel(it) => vec![&mut it.of_master],
            _ => self.servers(),
        };
        for server in servers {
            server.password_file = Some(path.into());
        }
        Ok(self)
    }

    fn servers(&mut self) -> Vec<&mut Server> {
        match &mut self.target {
            Target::Server(server) => vec![server],
            #[cfg(feature = "sentinel")]
            Target::Sentinel(it) => it.sentinels.iter_mut().chain([&mut it.of_master]).collect(),
            #[cfg(feature = "cluster")]
            Target::Cluster(seeds) => seeds.iter_mut().collect(),
        }
    }

    /// True for the address of a Redis Cluster.
    pub fn is_cluster(&self) -> bool {
        match self.target {
            #[cfg(feature = "cluster")]
            Target::Cluster(_) => true,
            _ => false,
        }
    }

    /// The address of one server.
    pub(super) fn of_server(server: Server) -> Self {
        Self {
            target: Target::Server(server),
        }
    }

    /// The server at this address, without the user and the database: two pools with the same server
    /// are one node.
    pub fn server(&self) -> String {
        match &self.target {
            Target::Server(server) => server.to_string(),
            #[cfg(feature = "sentinel")]
            Target::Sentinel(it) => format!("{} of {}", it.master, listed(&it.sentinels)),
            #[cfg(feature = "cluster")]
            Target::Cluster(seeds) => format!("the cluster of {}", listed(seeds)),
        }
    }

    /// True if a replica may replace the server. The replica may lack the newest writes.
    pub fn fails_over(&self) -> bool {
        !matches!(self.target, Target::Server(_))
    }
}

/// The servers in an order that does not depend on the URL.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
fn listed(servers: &[Server]) -> String {
    let mut servers: Vec<_> = servers.iter().map(Server::to_string).collect();
    servers.sort();
    servers.join(", ")
}

fn left_out(feature: &str) -> Invalid {
    Invalid::new(format!(
        "this build leaves out what it needs; enable the feature `{feature}` of `redlock-runtime`"
    ))
}

/// One server. No error shows a piece of the URL: a host cannot be told from a piece of a password with a `#` or a `/`
/// in it.
fn server(url: &str) -> Result<Server, Invalid> {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    // By the standard, `redis://user:12#34@host` is a host called `user`.
    let behind = rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]);
    if !scheme.ends_with("unix") && behind.contains(['@', '#']) {
        return Err(Invalid::new(
            "the URL has a `#`, or an `@` behind its host; write `@`, `/`, `?` and `#` in a user or \
             a password as %40, %2F, %3F and %23 (TLS is always verified: there is no `#insecure`)",
        ));
    }
    let info = url.into_connection_info().ok();
    let server = info.and_then(|info| {
        let settings = info.redis_settings().clone().set_skip_set_lib_name();
        Server::new(
            info.set_redis_settings(settings),
            AsyncConnectionConfig::new(),
        )
    });
    let wrong = "the URL is not valid; write redis://[user:password@]host:port[/db]";
    server.ok_or_else(|| Invalid::new(wrong))
}

/// The parts of `redis+…://[user[:password]@]host[:port],…/path?query`. The login ends with its `@`.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
fn several(url: &str) -> ([&str; 4], Vec<&str>) {
    let (scheme, rest) = url.split_once("://").unwrap_or_default();
    let redis = scheme.split('+').next().unwrap_or_default();
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (login, rest) = rest.split_at(rest.rfind('@').map_or(0, |at| at + 1));
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    ([redis, login, path, query], hosts.split(',').collect())
}

#[cfg(feature = "cluster")]
fn cluster(url: &str) -> Result<Vec<Server>, Invalid> {
    let ([redis, login, path, query], hosts) = several(url);
    if !matches!(path, "" | "0") || !query.is_empty() {
        return Err(Invalid::new(
            "the URL has something behind its hosts; a cluster has no other database: write \
             redis+cluster://host:port,host:port",
        ));
    }
    let seeds = hosts.iter();
    seeds
        .map(|host| server(&format!("{redis}://{login}{host}")))
        .collect()
}

#[cfg(feature = "sentinel")]
fn sentinel(url: &str) -> Result<Sentinel, Invalid> {
    let wrong = |what| {
        Invalid::new(format!(
            "the URL {what}; write redis+sentinel://host:port,host:port/master[/db]"
        ))
    };
    let ([redis, login, path, query], hosts) = several(url);
    let (master, db) = path.split_once('/').unwrap_or((path, "0"));
    if master.is_empty() {
        return Err(wrong("names no master"));
    }
    let login_there = match (query, query.strip_prefix("sentinel_login=")) {
        ("", _) => String::new(),
        (_, Some(login)) if login.contains(':') => format!("{login}@"),
        _ => Err(wrong(
            "has a query other than ?sentinel_login=user:password",
        ))?,
    };
    let sentinels = hosts.iter().map(|host| {
        let has_port = host.contains(':') && !host.ends_with(']');
        let port = if has_port { "" } else { ":26379" };
        server(&format!("{redis}://{login_there}{host}{port}"))
    });
    Ok(Sentinel {
        sentinels: sentinels.collect::<Result<_, _>>()?,
        master: master.to_owned(),
        of_master: server(&format!("{redis}://{login}{}/{db}", hosts[0]))?,
    })
}

impl fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.server())
    }
}

impl fmt::Debug for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RedisAddress({self})")
    }
}

#[cfg(test)]
mod tests;
