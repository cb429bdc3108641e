//! Where a pool is, and its settings.

use std::fmt;
use std::path::{Path, PathBuf};

use redlock_core::error::Invalid;
use redlock_core::redis::{RedisAddress, TlsOptions, Vetting};
use serde::Deserialize;

use super::Config;
use crate::text::{Name, did_you_mean};

/// Where a pool is. `Debug` shows the server only.
#[derive(Clone, Deserialize)]
#[serde(from = "String")]
pub(crate) enum PoolSource {
    /// A URL, with its password if it has one.
    Url(String),
    /// The server of a user's own client.
    Client(Result<RedisAddress, Invalid>),
}

impl From<String> for PoolSource {
    fn from(url: String) -> Self {
        Self::Url(url)
    }
}

/// The longest name of a `memory://` store, in bytes.
const LONGEST_STORE: usize = 64;

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || ".-_".contains(c)
}

/// The settings of one pool beside its URL. `None` leaves a setting to the layer below.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct PoolSettings {
    pub(crate) vetting: Option<Vetting>,
    pub(crate) trust_aof: Option<bool>,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) tls: TlsOptions,
}

impl PoolSettings {
    pub(super) fn over(self, below: Self) -> Self {
        let mut tls = self.tls;
        tls.ca = tls.ca.or(below.tls.ca);
        tls.certificate = tls.certificate.or(below.tls.certificate);
        tls.key = tls.key.or(below.tls.key);
        Self {
            vetting: self.vetting.or(below.vetting),
            trust_aof: self.trust_aof.or(below.trust_aof),
            password_file: self.password_file.or(below.password_file),
            tls,
        }
    }
}

/// The address of a pool.
pub(crate) enum PoolAddress {
    Memory(String),
    Redis(RedisAddress),
}

impl PoolSource {
    pub(crate) fn address(&self) -> Result<PoolAddress, Invalid> {
        let url = match self {
            Self::Url(url) => url,
            Self::Client(address) => return address.clone().map(PoolAddress::Redis),
        };
        match url.strip_prefix("memory://") {
            None => RedisAddress::parse(url).map(PoolAddress::Redis),
            Some("") => Err(Invalid::new(
                "`memory://` names no store; write memory://name",
            )),
            Some(name) if name.len() <= LONGEST_STORE && name.chars().all(is_of_a_name) => {
                Ok(PoolAddress::Memory(name.to_owned()))
            }
            // The text is not repeated: it may be the password of another URL.
            Some(_) => Err(Invalid::new(
                "the store of a `memory://` URL has a name of at most 64 letters, digits, `.`, `-` \
                 and `_`",
            )),
        }
    }
}

impl PoolAddress {
    /// This address, with the TLS settings of `options`. Their files are read now.
    pub(crate) fn with_tls(self, options: TlsOptions) -> Result<Self, Invalid> {
        match self {
            Self::Redis(address) => address.with_tls(options).map(Self::Redis),
            Self::Memory(name) if options == TlsOptions::default() => Ok(Self::Memory(name)),
            Self::Memory(_) => Err(Invalid::new(
                "`tls_ca`, `tls_cert` and `tls_key` are for rediss:// URLs; leave them out",
            )),
        }
    }

    /// This address, with the password in the file of a pool that has one. It is read now.
    pub(crate) fn with_password_file(self, file: Option<&Path>) -> Result<Self, Invalid> {
        match (self, file) {
            (address, None) => Ok(address),
            (Self::Redis(address), Some(file)) => address.with_password_file(file).map(Self::Redis),
            (Self::Memory(_), Some(_)) => Err(Invalid::new(
                "`password_file` is for the URL of a server; leave it out",
            )),
        }
    }

    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self, Self::Redis(address) if address.is_cluster())
    }

    /// The server's identity: two pools with equal values are one node.
    pub(crate) fn server(&self) -> String {
        match self {
            Self::Memory(name) => format!("memory://{name}"),
            Self::Redis(address) => address.server(),
        }
    }

    /// True if a replica may take the place of the server.
    pub(crate) fn fails_over(&self) -> bool {
        matches!(self, Self::Redis(address) if address.fails_over())
    }
}

impl Config {
    /// The error for pools that have settings but no URL from any source.
    pub(crate) fn without_url(&self) -> Option<String> {
        // A file of another kind may have many such tables.
        const MOST: usize = 8;
        let pools = self.pool_settings.keys();
        let pools: Vec<_> = pools
            .filter(|name| !self.pools.contains_key(*name))
            .collect();
        let named = pools
            .iter()
            .take(MOST)
            .map(|name| format!("`{}`", Name(name)));
        let mut named = named.collect::<Vec<_>>().join(", ");
        if pools.len() > MOST {
            named = format!("{named}, and {} more", pools.len() - MOST);
        }
        let meant = match &*pools {
            [] => return None,
            [name] => did_you_mean(name, self.pools.keys().map(String::as_str)),
            _ => String::new(),
        };
        Some(format!(
            "there are settings but no `url` for the pool {named}; write it, set it by its variable, or \
             mend the name{meant}"
        ))
    }
}

/// Settings of one pool.
impl Config {
    /// What `init` does if a lock cannot rely on this pool's server: a replica, or a
    /// server that evicts keys. By default it refuses the pool.
    ///
    /// ```
    /// use redlock_runtime::config::Vetting;
    /// let config = redlock_runtime::Config::new().pool("a", "redis://10.0.0.1:6379").vetting("a", Vetting::Warn);
    /// ```
    #[must_use]
    pub fn vetting(mut self, pool: impl Into<String>, vetting: Vetting) -> Self {
        let settings = self.pool_settings.entry(pool.into()).or_default();
        settings.vetting = Some(vetting);
        self
    }

    /// This pool's server forgets nothing when it restarts, so that it may vote at once: it has
    /// `appendonly yes`, `appendfsync always` and `no-appendfsync-on-rewrite no`, and no replica
    /// takes its place.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new().pool("a", "redis://10.0.0.1:6379").trust_aof("a");
    /// ```
    #[must_use]
    pub fn trust_aof(mut self, pool: impl Into<String>) -> Self {
        let settings = self.pool_settings.entry(pool.into()).or_default();
        settings.trust_aof = Some(true);
        self
    }

    /// The file with the password of this pool's user. The file is read again at each connection, so a password may
    /// rotate.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new()
    ///     .pool("a", "redis://locker@10.0.0.1:6379")
    ///     .password_file("a", "/run/secrets/redis");
    /// ```
    #[must_use]
    pub fn password_file(mut self, pool: impl Into<String>, file: impl Into<PathBuf>) -> Self {
        let settings = self.pool_settings.entry(pool.into()).or_default();
        settings.password_file = Some(file.into());
        self
    }

    /// The PEM file with the CAs that may have issued the certificate of this pool's server, in the
    /// place of the system's. Like all TLS settings, it is for `rediss://` URLs.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new()
    ///     .pool("a", "rediss://10.0.0.1:6380")
    ///     .tls_ca("a", "/etc/shop/redis-ca.pem");
    /// ```
    #[must_use]
    pub fn tls_ca(mut self, pool: impl Into<String>, file: impl Into<PathBuf>) -> Self {
        let settings = self.pool_settings.entry(pool.into()).or_default();
        settings.tls.ca = Some(file.into());
        self
    }

    /// The PEM files with the certificate that this pool's server is shown, and its private key.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new()
    ///     .pool("a", "rediss://10.0.0.1:6380")
    ///     .tls_cert("a", "/etc/shop/client.pem", "/etc/shop/client.key");
    /// ```
    #[must_use]
    pub fn tls_cert(
        mut self,
        pool: impl Into<String>,
        certificate: impl Into<PathBuf>,
        key: impl Into<PathBuf>,
    ) -> Self {
        let settings = self.pool_settings.entry(pool.into()).or_default();
        settings.tls.certificate = Some(certificate.into());
        settings.tls.key = Some(key.into());
        self
    }
}

/// Shows no path: it may be the password in place of the name of its file.
impl fmt::Debug for PoolSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoolSettings")
            .field("vetting", &self.vetting)
            .field("trust_aof", &self.trust_aof)
            .field("password_file", &self.password_file.is_some())
            .field("tls", &self.tls)
            .finish()
    }
}

impl fmt::Debug for PoolSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Ok(address) => f.write_str(&address.server()),
            Err(_) => f.write_str("not valid"),
        }
    }
}
