//! One server and its login.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

#[cfg(feature = "tls")]
use ::redis::Client;
use ::redis::{
    AsyncConnectionConfig, ConnectionAddr, ConnectionInfo, ErrorKind, ProtocolVersion, RedisError,
    RedisResult,
};

use crate::model::invalid::Invalid;
#[cfg(feature = "tls")]
use crate::redis::options::TlsOptions;
use crate::redis::secret_file;
#[cfg(feature = "tls")]
use crate::redis::tls::{certificates, provide_cryptography};

/// The longest host name in bytes: the limit of the domain name system.
const LONGEST_HOST: usize = 255;

/// The places in the queue of a connection. It never fills: a full queue would change the order of commands.
const PLACES: usize = 1 << 24;

/// One server, with all that the crate has to know to connect to it. `Debug` and `Display` show the address only.
#[derive(Clone)]
pub(in crate::redis) struct Server {
    info: Arc<ConnectionInfo>,
    pub(in crate::redis) config: Arc<AsyncConnectionConfig>,
    /// Read at each connection.
    pub(super) password_file: Option<Arc<Path>>,
    /// The user's own certificates, if there are any.
    #[cfg(feature = "tls")]
    pub(super) tls: Option<Arc<TlsOptions>>,
}

impl Server {
    /// `None` for a kind of address that this library does not support, and for what cannot be a host.
    pub(super) fn new(info: ConnectionInfo, config: AsyncConnectionConfig) -> Option<Self> {
        let address = info.addr().clone();
        let settings = info.redis_settings().clone();
        let settings = settings.set_protocol(ProtocolVersion::RESP3);
        let tcp = info.tcp_settings().clone().set_nodelay(true);
        let config = config
            .set_response_timeout(None)
            .set_connection_timeout(None)
            .set_pipeline_buffer_size(PLACES);
        let server = Self {
            info: Arc::new(info.set_redis_settings(settings).set_tcp_settings(tcp)),
            config: Arc::new(config),
            password_file: None,
            #[cfg(feature = "tls")]
            tls: None,
        };
        match address {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                server.at(&host, port)
            }
            ConnectionAddr::Unix(_) => Some(server),
            _ => None,
        }
    }

    /// The server at another address, with the same login and TLS. `None` if `host` cannot be a host: another server
    /// may have named it, and it appears in the log and in errors, so it must not contain other text.
    pub(in crate::redis) fn at(&self, host: &str, port: u16) -> Option<Self> {
        let is_of_a_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:%".contains(&byte);
        if !(1..=LONGEST_HOST).contains(&host.len()) || !host.bytes().all(is_of_a_host) {
            return None;
        }
        let name = host.to_ascii_lowercase();
        let address = match self.info.addr().clone() {
            ConnectionAddr::TcpTls {
                insecure,
                tls_params,
                ..
            } => ConnectionAddr::TcpTls {
                host: name,
                port,
                insecure,
                tls_params,
            },
            _ => ConnectionAddr::Tcp(name, port),
        };
        Some(Self {
            info: Arc::new(ConnectionInfo::clone(&self.info).set_addr(address)),
            ..self.clone()
        })
    }

    /// `None` for a Unix socket.
    #[cfg(feature = "cluster")]
    pub(in crate::redis) fn host(&self) -> Option<&str> {
        match self.info.addr() {
            ConnectionAddr::Tcp(host, _) | ConnectionAddr::TcpTls { host, .. } => Some(host),
            _ => None,
        }
    }

    pub(super) fn is_tls(&self) -> bool {
        matches!(self.info.addr(), ConnectionAddr::TcpTls { .. })
    }

    /// The user who logs in.
    pub(in crate::redis) fn user(&self) -> &str {
        let settings = self.info.redis_settings();
        let has_password = settings.password().is_some() || self.password_file.is_some();
        let user = settings.username().filter(|_| has_password);
        user.unwrap_or("default")
    }

    /// What the crate has to know to connect, with the password and the certificates of the present files.
    pub(in crate::redis) fn info(&self) -> RedisResult<ConnectionInfo> {
        let unusable = |invalid: Invalid| {
            RedisError::from((ErrorKind::InvalidClientConfig, "", invalid.to_string()))
        };
        let mut info = ConnectionInfo::clone(&self.info);
        if let Some(path) = &self.password_file {
            let password = secret_file::password(path).map_err(unusable)?;
            let settings = info.redis_settings().clone().set_password(password);
            info = info.set_redis_settings(settings);
        }
        #[cfg(feature = "tls")]
        if self.is_tls() {
            provide_cryptography();
            if let Some(files) = &self.tls {
                let present = certificates(files).map_err(unusable)?;
                let client = Client::build_with_tls(info, present)?;
                return Ok(client.get_connection_info().clone());
            }
        }
        Ok(info)
    }
}

/// Two values with the same address are equal.
impl PartialEq for Server {
    fn eq(&self, other: &Self) -> bool {
        self.info.addr() == other.info.addr()
    }
}

impl Eq for Server {}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.info.addr() {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. }
                if host.contains(':') =>
            {
                write!(f, "[{host}]:{port}")
            }
            address => address.fmt(f),
        }
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({self})")
    }
}
