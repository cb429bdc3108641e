//! The address of a node and its login, from a URL.

mod redact;
mod server;

use std::fmt;
use std::sync::Arc;

use ::redis::{AsyncConnectionConfig, Client, ConnectionAddr, IntoConnectionInfo as _};

use crate::model::invalid::Invalid;
use redact::{may_be_split_password, redacted};
use server::Given;
#[cfg(feature = "sentinel")]
pub(super) use server::is_host;
#[cfg(feature = "cluster")]
pub(super) use server::server_at;
pub(super) use server::{Endpoint, Server};

use super::tls::{Tls, TlsOptions};

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
    /// The master as a server, with its login and TLS, at the endpoint of a sentinel.
    pub(super) of_master: Server,
}

impl RedisAddress {
    /// Parses one of
    /// * `redis://[user[:password]@]host[:port][/db]`, `rediss://…` for TLS;
    /// * `redis+unix:///path[?db=n&user=…&pass=…]`;
    /// * `redis+sentinel://[user[:password]@]host[:port],…/master[/db]`, where the login is the
    ///   master's (`?sentinel_user=…&sentinel_pass=…` is that of the sentinels), `rediss+sentinel`
    ///   for TLS to all of them;
    /// * `redis+cluster://[user[:password]@]host[:port],…`, `rediss+cluster` for TLS.
    ///
    /// # Errors
    /// [`Invalid`], without the password, if the URL has another scheme or cannot be understood.
    pub fn parse(url: &str) -> Result<Self, Invalid> {
        let (scheme, rest) = url.split_once("://").unwrap_or(("", url));
        let tls = if scheme.starts_with("rediss") {
            Some(Arc::new(Tls::load(TlsOptions::default())?))
        } else {
            None
        };
        let tls = tls.as_ref();
        let target = match scheme {
            "redis" | "rediss" | "redis+unix" | "unix" => {
                let plain = if tls.is_some() { "redis" } else { scheme };
                Target::Server(server(url, &format!("{plain}://{rest}"), tls)?)
            }
            #[cfg(feature = "sentinel")]
            "redis+sentinel" | "rediss+sentinel" => Target::Sentinel(sentinel(url, rest, tls)?),
            #[cfg(not(feature = "sentinel"))]
            "redis+sentinel" | "rediss+sentinel" => {
                return Err(Invalid::new(
                    "redis+sentinel:// needs Sentinel, which this build leaves out; enable the \
                     feature `sentinel` of `redlock-runtime`",
                ));
            }
            #[cfg(feature = "cluster")]
            "redis+cluster" | "rediss+cluster" => Target::Cluster(cluster(url, rest, tls)?),
            #[cfg(not(feature = "cluster"))]
            "redis+cluster" | "rediss+cluster" => {
                return Err(Invalid::new(
                    "redis+cluster:// needs Cluster, which this build leaves out; enable the \
                     feature `cluster` of `redlock-runtime`",
                ));
            }
            _ => {
                return Err(Invalid::new(format!(
                    "`{}` is not a node's URL; write redis://host:port, rediss://host:port, \
                     redis+unix:///path, redis+sentinel://host:port,host:port/master, \
                     redis+cluster://host:port,host:port or memory://name",
                    redacted(url),
                )));
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
        let info = client.get_connection_info();
        if matches!(info.addr(), ConnectionAddr::TcpTls { .. }) {
            // The crate takes the cryptography that this brings.
            Tls::load(TlsOptions::default())?;
        }
        let server = Server::of(info, None);
        let unknown = || Invalid::new("the client's kind of address is not supported");
        let mut server = server.ok_or_else(unknown)?;
        server.given = Some(Arc::new(Given {
            info: info.clone(),
            // A limit cannot be taken away, and a limit that is ever reached would change the order of commands.
            config: config.unwrap_or_default().set_concurrency_limit(usize::MAX),
        }));
        Ok(Self::of_server(server))
    }

    /// The same address, with TLS verified by `options`. All files are read, so that faults in them are
    /// known before the first connection.
    ///
    /// # Errors
    /// [`Invalid`] with the file and its fault, never with its content; also if there are options but
    /// no TLS.
    pub fn with_tls(mut self, options: TlsOptions) -> Result<Self, Invalid> {
        if options == TlsOptions::default() {
            return Ok(self);
        }
        let mut tls_fields: Vec<&mut Option<Arc<Tls>>> = match &mut self.target {
            Target::Server(server) => vec![&mut server.tls],
            #[cfg(feature = "sentinel")]
            Target::Sentinel(sentinel) => sentinel
                .sentinels
                .iter_mut()
                .map(|server| &mut server.tls)
                .chain([&mut sentinel.of_master.tls])
                .collect(),
            #[cfg(feature = "cluster")]
            Target::Cluster(seeds) => seeds.iter_mut().map(|server| &mut server.tls).collect(),
        };
        if tls_fields.iter().any(|field| field.is_none()) {
            return Err(Invalid::new(
                "`tls_ca`, `tls_cert` and `tls_key` are for TLS, and the URL is \
                 not; write rediss:// for redis://, or leave them out",
            ));
        }
        let tls = Arc::new(Tls::load(options)?);
        for field in &mut tls_fields {
            **field = Some(Arc::clone(&tls));
        }
        Ok(self)
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
            Target::Sentinel(Sentinel {
                sentinels, master, ..
            }) => {
                format!("{master} of {}", Listed(sentinels))
            }
            #[cfg(feature = "cluster")]
            Target::Cluster(seeds) => format!("the cluster of {}", Listed(seeds)),
        }
    }

    /// True if a replica may replace the server. The replica may lack the newest writes.
    pub fn fails_over(&self) -> bool {
        !matches!(self.target, Target::Server(_))
    }
}

/// The servers in an order that does not depend on the URL.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
struct Listed<'a>(&'a [Server]);

#[cfg(any(feature = "cluster", feature = "sentinel"))]
impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut servers: Vec<_> = self.0.iter().map(Server::to_string).collect();
        servers.sort();
        f.write_str(&servers.join(", "))
    }
}

/// One server, from the part `plain` of `url`.
fn server(url: &str, plain: &str, tls: Option<&Arc<Tls>>) -> Result<Server, Invalid> {
    if plain.starts_with("redis://") && may_be_split_password(plain) {
        return Err(Invalid::new(format!(
            "`{}` has a `#`, or an `@` behind its host; write `@`, `/`, `?` and `#` in a user or a \
             password as %40, %2F, %3F and %23 (TLS is always verified: there is no `#insecure`)",
            redacted(url),
        )));
    }
    let info = plain.into_connection_info().map_err(|error| {
        // Only the error's kind: its text may repeat the URL.
        let reason = error
            .detail()
            .filter(|detail| !detail.contains("://"))
            .unwrap_or("");
        Invalid::new(format!(
            "`{}` is not a valid Redis URL{}{reason}; write redis://[user:password@]host:port[/db]",
            redacted(url),
            if reason.is_empty() { "" } else { ": " },
        ))
    })?;
    let server = Server::of(&info, tls);
    match server {
        Some(server) if !matches!(&server.endpoint, Endpoint::Tcp(host, _) if host.is_empty()) => {
            Ok(server)
        }
        _ => Err(Invalid::new(format!(
            "`{}` names no host; write redis://host:port",
            redacted(url)
        ))),
    }
}

/// The parts of `[user[:password]@]host[:port],…/path?query`. The login ends with its `@`.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
fn several(rest: &str) -> (&str, Vec<&str>, &str, &str) {
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (login, rest) = match rest.rfind('@') {
        Some(at) => rest.split_at(at + 1),
        None => ("", rest),
    };
    let (hosts, path) = rest.split_once('/').unwrap_or((rest, ""));
    (login, hosts.split(',').collect(), path, query)
}

#[cfg(feature = "cluster")]
fn cluster(url: &str, rest: &str, tls: Option<&Arc<Tls>>) -> Result<Vec<Server>, Invalid> {
    let (login, hosts, path, query) = several(rest);
    if !matches!(path, "" | "0") || !query.is_empty() {
        return Err(Invalid::new(format!(
            "`{}` has something behind its hosts; a cluster has no other database: write \
             redis+cluster://host:port,host:port",
            redacted(url),
        )));
    }
    let seeds = hosts.iter();
    seeds
        .map(|host| server(url, &format!("redis://{login}{host}"), tls))
        .collect()
}

#[cfg(feature = "sentinel")]
fn sentinel(url: &str, rest: &str, tls: Option<&Arc<Tls>>) -> Result<Sentinel, Invalid> {
    let wrong = |what: &str| {
        Invalid::new(format!(
            "`{}` {what}; write redis+sentinel://host:port,host:port/master[/db]",
            redacted(url),
        ))
    };
    let (login, hosts, path, query) = several(rest);
    let (master, db) = path.split_once('/').unwrap_or((path, "0"));
    if master.is_empty() {
        return Err(wrong("names no master"));
    }
    let (mut user, mut password) = ("", "");
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        match pair.split_once('=') {
            Some(("sentinel_user", value)) => user = value,
            Some(("sentinel_pass", value)) => password = value,
            _ => {
                return Err(wrong(
                    "has a query that is neither sentinel_user nor sentinel_pass",
                ));
            }
        }
    }
    if password.is_empty() && !user.is_empty() {
        return Err(wrong("has a sentinel_user without a sentinel_pass"));
    }
    let own = match password {
        "" => String::new(),
        _ => format!("{user}:{password}@"),
    };
    let sentinels: Result<Vec<_>, _> = hosts
        .iter()
        .map(|host| {
            let host = if has_port(host) {
                (*host).to_owned()
            } else {
                format!("{host}:26379")
            };
            server(url, &format!("redis://{own}{host}"), tls)
        })
        .collect();
    let first = hosts.first().copied().unwrap_or_default();
    let of_master = server(url, &format!("redis://{login}{first}/{db}"), tls)?;
    Ok(Sentinel {
        sentinels: sentinels?,
        master: master.to_owned(),
        of_master,
    })
}

#[cfg(feature = "sentinel")]
fn has_port(host: &str) -> bool {
    let behind_brackets = host.rsplit_once(']').map_or(host, |(_, rest)| rest);
    behind_brackets.contains(':')
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
