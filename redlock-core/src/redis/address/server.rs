//! One server, and how to log in to it.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use ::redis::{ConnectionAddr, ConnectionInfo};

use crate::redis::tls::Tls;

/// What the domain name system allows.
const LONGEST_HOST: usize = 255;

/// One server: where it listens, who logs in, and whether over TLS. `Debug` and `Display` show
/// where it is and nothing else.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::redis) struct Server {
    pub(in crate::redis) endpoint: Endpoint,
    pub(in crate::redis) login: Login,
    /// Over TLS, which is verified like this.
    pub(in crate::redis) tls: Option<Arc<Tls>>,
}

/// Where a server listens.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::redis) enum Endpoint {
    Tcp(String, u16),
    Unix(PathBuf),
}

/// Who logs in, and to which database.
#[derive(Clone, Default, PartialEq, Eq)]
pub(in crate::redis) struct Login {
    user: Option<String>,
    pub(in crate::redis) password: Option<String>,
    pub(in crate::redis) db: i64,
}

impl Login {
    pub(in crate::redis) fn user(&self) -> &str {
        self.user.as_deref().unwrap_or("default")
    }
}

impl Server {
    /// `None`: a kind of address that this library does not know.
    pub(super) fn of(info: &ConnectionInfo, tls: Option<&Arc<Tls>>) -> Option<Self> {
        let endpoint = match info.addr() {
            ConnectionAddr::Tcp(host, port) => Endpoint::Tcp(host.to_ascii_lowercase(), *port),
            ConnectionAddr::Unix(path) => Endpoint::Unix(path.clone()),
            _ => return None,
        };
        let settings = info.redis_settings();
        Some(Self {
            endpoint,
            login: Login {
                user: settings.username().map(str::to_owned),
                password: settings.password().map(str::to_owned),
                db: settings.db(),
            },
            tls: tls.map(Arc::clone),
        })
    }
}

/// Whether another server may name a server so. It ends up in the log and in errors, so it is no
/// place for a line of somebody else's.
pub(in crate::redis) fn is_host(name: &str) -> bool {
    let is_of_a_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:%".contains(&byte);
    (1..=LONGEST_HOST).contains(&name.len()) && name.bytes().all(is_of_a_host)
}

/// Another server of the Cluster of `asked`. Without a host it has the host of `asked`.
pub(in crate::redis) fn server_at(host: &str, port: u16, asked: &Server) -> Option<Server> {
    let host = match (&asked.endpoint, host) {
        (_, "?") | (Endpoint::Unix(_), "") => return None,
        (Endpoint::Tcp(host, _), "") => host.clone(),
        (_, host) if !is_host(host) => return None,
        (_, host) => host.to_ascii_lowercase(),
    };
    Some(Server {
        endpoint: Endpoint::Tcp(host, port),
        ..asked.clone()
    })
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint.fmt(f)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}
