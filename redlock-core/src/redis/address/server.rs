//! A server, with its address and login.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use ::redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, IntoConnectionInfo as _, ProtocolVersion,
};

use super::{NO_PARAMETERS, check_query, not_a_url};
use crate::model::invalid::Invalid;
use crate::redis::options::TlsOptions;
use crate::redis::secret_file::password;

/// The longest host name in bytes: the limit of the domain name system.
const LONGEST_HOST: usize = 255;

/// The places in a connection's queue, so many that it never fills. A full queue would change the order of commands.
const PLACES: usize = 1 << 24;

/// The code that opens the connections to a server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::redis) enum Opener {
    /// The library itself, for a URL.
    Library,
    /// The crate, for a user's own client. The crate gets one address at a time.
    Crate,
    /// The crate, at all addresses that the user's own resolver returns.
    CrateAndResolver,
}

/// A server, with everything that the crate needs to connect to it. `Debug` and `Display` show the address only.
#[derive(Clone)]
pub(in crate::redis) struct Server {
    info: Arc<ConnectionInfo>,
    pub(in crate::redis) config: Arc<AsyncConnectionConfig>,
    pub(in crate::redis) opener: Opener,
    /// The file with the password, which is read at each connection.
    pub(in crate::redis) password_file: Option<Arc<Path>>,
    /// The user's own certificates, if there are any.
    pub(in crate::redis) tls: Arc<TlsOptions>,
}

impl Server {
    /// Parses a URL of a single server, in the crate's syntax.
    pub(super) fn parse(url: &str) -> Result<Self, Invalid> {
        let (scheme, rest) = url.split_once("://").unwrap_or_default();
        // Refuse a `#`: by the standard, `redis://user:12#34@host` is a host called `user`.
        let behind = rest.find(['/', '?', '#']).map_or("", |at| &rest[at..]);
        let is_socket = scheme.ends_with("unix");
        if behind.contains('#') || !is_socket && behind.contains('@') {
            return Err(Invalid::new(
                "the URL has a `#`, or an `@` after its host; write `@`, `/`, `?` and `#` in a user or \
                 a password as %40, %2F, %3F and %23 (TLS is always verified: there is no `#insecure`)",
            ));
        }
        // A Unix socket has no host, so the crate would ignore a login there.
        let is_whole = !is_socket || rest.starts_with('/');
        let info = url.into_connection_info().ok().filter(|_| is_whole);
        let info = info.ok_or_else(|| why_no_url(rest))?;
        let of_socket = "`db`, `user`, `pass`, each once, with `&` in a value as %26";
        let known = if is_socket { of_socket } else { NO_PARAMETERS };
        check_query(rest.split_once('?').map_or("", |(_, query)| query), known)?;
        let mut settings = info.redis_settings().clone();
        if settings.username().is_some() && settings.password().is_none() {
            // Set an empty password, because the crate would otherwise log in as `default`.
            settings = settings.set_password("");
        }
        let info = info.set_redis_settings(settings);
        Self::new(info, AsyncConnectionConfig::new()).ok_or_else(not_a_url)
    }

    /// Creates a server. Returns `None` for an unsupported kind of address, and for an invalid host.
    pub(super) fn new(info: ConnectionInfo, config: AsyncConnectionConfig) -> Option<Self> {
        let settings = info.redis_settings().clone().set_skip_set_lib_name();
        let settings = settings.set_protocol(ProtocolVersion::RESP3);
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        let config = config
            .set_response_timeout(None)
            .set_connection_timeout(None)
            .set_pipeline_buffer_size(PLACES);
        let server = Self {
            info: Arc::new(info.set_redis_settings(settings).set_tcp_settings(tcp)),
            config: Arc::new(config),
            opener: Opener::Library,
            password_file: None,
            tls: Arc::default(),
        };
        match server.info.addr() {
            ConnectionAddr::Tcp(_, port) | ConnectionAddr::TcpTls { port, .. } => {
                server.at(None, *port)
            }
            ConnectionAddr::Unix(_) => Some(server),
            _ => None,
        }
    }

    /// Marks the server as taken from a user's own client. Only the crate's `Debug` shows if the user set a resolver.
    pub(super) fn of_a_client(mut self) -> Self {
        let has_none = format!("{:?}", self.config).contains("dns_resolver: \"not set\"");
        self.opener = if has_none {
            Opener::Crate
        } else {
            Opener::CrateAndResolver
        };
        self
    }

    /// Returns the server at another address, with the same login and TLS. Without a `host`, the host stays too. Returns
    /// `None` for an invalid host. The host may come from another server, and appears in the log and in errors, so it
    /// must not contain arbitrary text.
    pub(in crate::redis) fn at(&self, host: Option<&str>, port: u16) -> Option<Self> {
        let mut address = self.info.addr().clone();
        let (ConnectionAddr::Tcp(place, number)
        | ConnectionAddr::TcpTls {
            host: place,
            port: number,
            ..
        }) = &mut address
        else {
            return None;
        };
        *place = host.unwrap_or(place).to_ascii_lowercase();
        *number = port;
        let is_of_a_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:%".contains(&byte);
        let is_host = (1..=LONGEST_HOST).contains(&place.len()) && place.bytes().all(is_of_a_host);
        is_host.then(|| Self {
            info: Arc::new(ConnectionInfo::clone(&self.info).set_addr(address)),
            ..self.clone()
        })
    }

    pub(in crate::redis) fn is_tls(&self) -> bool {
        matches!(self.info.addr(), ConnectionAddr::TcpTls { .. })
    }

    /// Returns the user who logs in.
    pub(in crate::redis) fn user(&self) -> &str {
        let settings = self.info.redis_settings();
        settings.username().unwrap_or("default")
    }

    pub(in crate::redis) fn addr(&self) -> &ConnectionAddr {
        self.info.addr()
    }

    /// Returns everything that the crate needs to connect, with the password that is now in the file.
    pub(in crate::redis) fn info(&self) -> Result<ConnectionInfo, Invalid> {
        let mut info = ConnectionInfo::clone(&self.info);
        if let Some(path) = &self.password_file {
            let settings = info.redis_settings().clone();
            info = info.set_redis_settings(settings.set_password(password(path)?));
        }
        Ok(info)
    }
}

/// Returns the error for a URL that the crate rejects. `rest` is the text after the scheme.
fn why_no_url(rest: &str) -> Invalid {
    let host = rest.rsplit('@').next().and_then(|it| it.strip_prefix('['));
    match host.and_then(|host| host.split_once(']')) {
        Some((address, _)) if address.contains('%') => Invalid::new(
            "the URL has an IPv6 address with a zone, such as `%eth0`, for which no URL has a place; write a name, or \
             an address that needs no zone",
        ),
        _ => not_a_url(),
    }
}

/// Servers are equal if their addresses are equal.
impl PartialEq for Server {
    fn eq(&self, other: &Self) -> bool {
        self.info.addr() == other.info.addr()
    }
}

impl Eq for Server {}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.info.addr().fmt(f)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}
