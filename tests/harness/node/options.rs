//! The options with which a server is started.

use crate::{Authority, Identity, ports};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

/// The options of a server. By default, a server keeps no data on disk and needs no password.
///
/// ```
/// # use redlock_tests::NodeOptions;
/// let options = NodeOptions::default().append_only().arg("maxmemory", "16mb");
/// ```
#[derive(Clone, Debug, Default)]
pub struct NodeOptions {
    addresses: Vec<Ipv4Addr>,
    pub(super) port: Option<u16>,
    append_only: bool,
    pub(super) unix_socket: bool,
    pub(super) movable_clock: bool,
    pub(super) password: Option<String>,
    pub(super) tls: Option<ServerTls>,
    watched: Option<String>,
    /// The port on which the other servers of a Redis Cluster reach this one.
    bus_port: Option<u16>,
    extra: Vec<(String, String)>,
}

/// The files that a server needs for TLS.
#[derive(Clone, Debug)]
pub(super) struct ServerTls {
    identity: Identity,
    clients_ca: PathBuf,
}

impl NodeOptions {
    /// Listens on these addresses of the loopback instead of 127.0.0.1. The first one is that of the
    /// node's URL. Linux has all of 127.0.0.0/8.
    #[must_use]
    pub fn addresses(mut self, addresses: impl IntoIterator<Item = Ipv4Addr>) -> Self {
        self.addresses = addresses.into_iter().collect();
        self
    }

    /// Listens on the port of `other`, which has other [`addresses`](Self::addresses): one name can then lead
    /// to both servers.
    #[must_use]
    pub fn port_of(mut self, other: &crate::RedisNode) -> Self {
        self.port = Some(other.port());
        self
    }

    /// Writes every change to disk before it is answered, so that a restart, even after
    /// [`kill`](crate::RedisNode::kill), loses nothing.
    #[must_use]
    pub fn append_only(mut self) -> Self {
        self.append_only = true;
        self
    }

    /// Asks clients for a password. It becomes part of the node's URL: letters and digits only.
    #[must_use]
    pub fn password(mut self, password: &str) -> Self {
        assert!(
            !password.is_empty() && password.chars().all(|c| c.is_ascii_alphanumeric()),
            "the password goes into a URL; use letters and digits"
        );
        self.password = Some(password.to_owned());
        self
    }

    /// Listens on a Unix socket as well: [`RedisNode::unix_url`](crate::RedisNode::unix_url).
    #[must_use]
    pub fn unix_socket(mut self) -> Self {
        self.unix_socket = true;
        self
    }

    /// Gives the server a wall clock that the test moves, with
    /// [`RedisNode::advance_clock`](crate::RedisNode::advance_clock) and
    /// [`RedisNode::set_back_clock`](crate::RedisNode::set_back_clock). Linux only.
    #[must_use]
    pub fn movable_clock(mut self) -> Self {
        self.movable_clock = true;
        self
    }

    /// Speaks TLS on its port, and nothing else, with a certificate that `authority` issued for
    /// 127.0.0.1 and localhost. It asks no client for a certificate.
    #[must_use]
    pub fn tls(self, authority: &Authority) -> Self {
        let identity = authority.issue(&["127.0.0.1", "localhost"]);
        self.tls_with(identity, authority)
    }

    /// The same with a certificate of the test's choice; `clients` issues those of clients.
    #[must_use]
    pub fn tls_with(mut self, identity: Identity, clients: &Authority) -> Self {
        self.tls = Some(ServerTls {
            identity,
            clients_ca: clients.ca().to_owned(),
        });
        self.arg("tls-auth-clients", "no")
    }

    /// Takes TLS clients with a certificate only.
    #[must_use]
    pub fn wants_client_certificates(self) -> Self {
        self.arg("tls-auth-clients", "yes")
    }

    /// Makes the server a replica of another one.
    #[must_use]
    pub fn replica_of(self, primary: &crate::RedisNode) -> Self {
        self.arg(
            "replicaof",
            &format!("{} {}", primary.addr().ip(), primary.port()),
        )
    }

    /// Makes the server a sentinel with this configuration.
    ///
    /// The sentinel rewrites its configuration as things change, and a restart reads the rewritten one.
    #[must_use]
    pub(crate) fn sentinel(mut self, configuration: &str) -> Self {
        self.watched = Some(configuration.to_owned());
        self
    }

    /// Makes it a server of a Redis Cluster, which has a second port.
    #[must_use]
    pub(crate) fn clustered(mut self) -> Self {
        // The usual one, 10000 above the other, may be another test's.
        self.bus_port = Some(ports::next());
        self
    }

    /// The same with another second port, where there is one.
    pub(super) fn with_another_bus_port(self) -> Self {
        match self.bus_port {
            Some(_) => self.clustered(),
            None => self,
        }
    }

    /// Any other directive of `redis.conf`, given last: it wins over the harness's own.
    #[must_use]
    pub fn arg(mut self, directive: &str, value: &str) -> Self {
        self.extra.push((directive.to_owned(), value.to_owned()));
        self
    }

    /// True if the server has a Unix socket. The harness uses the socket to inspect a server with TLS.
    pub(super) fn has_socket(&self) -> bool {
        self.unix_socket || self.tls.is_some()
    }

    /// Returns the addresses that the server listens on, of which there is at least one.
    pub(super) fn bound(&self) -> &[Ipv4Addr] {
        if self.addresses.is_empty() {
            return &[Ipv4Addr::LOCALHOST];
        }
        &self.addresses
    }

    /// Returns the line that the server prints when it is ready.
    pub(super) fn ready_line(&self) -> &'static str {
        match self.watched {
            None => "Ready to accept connections",
            Some(_) => "Sentinel ID is",
        }
    }

    pub(super) fn command_line(&self, port: u16, dir: &Path) -> Vec<String> {
        let mut line = Vec::new();
        if let Some(configuration) = &self.watched {
            let file = dir.join("sentinel.conf");
            if !file.exists() {
                std::fs::write(&file, configuration).expect("the node's directory can be written");
            }
            line.extend([file.display().to_string(), "--sentinel".to_owned()]);
        }
        let mut add = |directive: &str, value: &str| {
            line.push(format!("--{directive}"));
            // Two values of one directive are two arguments; an empty one is an argument too.
            line.extend(value.split(' ').map(str::to_owned));
        };
        let bound: Vec<_> = self.bound().iter().map(Ipv4Addr::to_string).collect();
        add("bind", &bound.join(" "));
        if self.tls.is_some() {
            add("port", "0");
            add("tls-port", &port.to_string());
        } else {
            add("port", &port.to_string());
        }
        add("daemonize", "no");
        add("logfile", "");
        if self.watched.is_none() {
            add("save", "");
            add("appendonly", if self.append_only { "yes" } else { "no" });
        }
        if self.append_only {
            add("appendfsync", "always");
        }
        if let Some(port) = self.bus_port {
            add("cluster-enabled", "yes");
            add("cluster-port", &port.to_string());
        }
        if let Some(password) = &self.password {
            add("requirepass", password);
        }
        for (directive, value) in &self.extra {
            add(directive, value);
        }
        // Not through `add`: a path may contain spaces.
        line.extend(["--dir".to_owned(), dir.display().to_string()]);
        if let Some(tls) = &self.tls {
            for (directive, path) in [
                ("tls-cert-file", &tls.identity.certificate),
                ("tls-key-file", &tls.identity.key),
                ("tls-ca-cert-file", &tls.clients_ca),
            ] {
                line.extend([format!("--{directive}"), path.display().to_string()]);
            }
        }
        if self.has_socket() {
            let socket = socket_path(dir).display().to_string();
            line.extend(["--unixsocket".to_owned(), socket]);
        }
        line
    }
}

pub(super) fn socket_path(dir: &Path) -> PathBuf {
    dir.join("redis.sock")
}
