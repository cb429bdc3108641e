//! One server and its login.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use ::redis::{AsyncConnectionConfig, ConnectionAddr, ConnectionInfo};

use crate::redis::tls::Tls;

/// The longest host name in bytes: the limit of the domain name system.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
const LONGEST_HOST: usize = 255;

/// One server: its address, the login, and whether it uses TLS. `Debug` and `Display` show the address
/// only.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::redis) struct Server {
    pub(in crate::redis) endpoint: Endpoint,
    pub(in crate::redis) login: Login,
    /// The TLS settings, if the connection uses TLS.
    pub(in crate::redis) tls: Option<Arc<Tls>>,
    /// The settings of a user's own client, if the address came from such a client.
    pub(in crate::redis) given: Option<Arc<Given>>,
}

/// The settings of a user's own client.
#[derive(Clone)]
pub(in crate::redis) struct Given {
    pub(in crate::redis) info: ConnectionInfo,
    pub(in crate::redis) config: AsyncConnectionConfig,
}

/// Two values with the same address are equal.
impl PartialEq for Given {
    fn eq(&self, other: &Self) -> bool {
        self.info.addr() == other.info.addr()
    }
}

impl Eq for Given {}

/// The address at which a server listens.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::redis) enum Endpoint {
    Tcp(String, u16),
    Unix(PathBuf),
}

/// The user, the password and the database.
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
    /// The server of a URL. `None` for a kind of address that this library does not support.
    pub(super) fn of(info: &ConnectionInfo, tls: Option<&Arc<Tls>>) -> Option<Self> {
        let endpoint = match info.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                Endpoint::Tcp(host.to_ascii_lowercase(), *port)
            }
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
            given: None,
        })
    }
}

/// True if `name` can be a host name. Another server supplies it, and it appears in the log and in
/// errors, so it must not contain other text.
#[cfg(any(feature = "cluster", feature = "sentinel"))]
pub(in crate::redis) fn is_host(name: &str) -> bool {
    let is_of_a_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:%".contains(&byte);
    (1..=LONGEST_HOST).contains(&name.len()) && name.bytes().all(is_of_a_host)
}

/// Another server of the Cluster of `asked`. If `host` is empty, the other server has the host of `asked`.
#[cfg(feature = "cluster")]
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
