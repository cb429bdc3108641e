//! Pools of a configuration: their addresses and settings.

use std::error::Error;
use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::Arc;

use redlock_core::error::Invalid;
use redlock_core::redis::{RedisAddress, TlsOptions, Vetting};
use redlock_core::{Environment, Node};

use super::settings::for_each_pool_setting;
use crate::parameters::{RawValue, parse};

/// A user's function that makes a node. Several starts may call it, because a configuration can be cloned.
pub(crate) type MakeNode =
    Arc<dyn Fn(Environment) -> Result<Arc<dyn Node>, Box<dyn Error + Send + Sync>> + Send + Sync>;

/// The source of a pool's node. `Debug` shows only the server.
#[derive(Clone)]
pub(crate) enum PoolSource {
    /// A URL, with its password if it has one.
    Url(String),
    /// The server of a client that the user made.
    Client(Result<RedisAddress, Invalid>),
    /// A node that the user's function makes.
    Own(MakeNode),
}

macro_rules! pool {
    ($(
        $(#[$doc:meta])+
        $name:ident: $type:ty $(, from $from:ty)?;
    )+) => {
        /// A pool of the configuration. A setting that is `None` has the default.
        #[derive(Clone, Default)]
        pub(crate) struct PoolConfig {
            pub(crate) url: Option<PoolSource>,
            $( pub(crate) $name: Option<$type>, )+
        }

        impl PoolConfig {
            pub(super) const KEYS: &[&'static str] = &["url", $( stringify!($name), )+];

            /// Sets `key` to a source's value.
            ///
            /// # Errors
            /// Returns a text that names the expected values.
            pub(super) fn set(&mut self, key: &str, raw: &RawValue<'_>) -> Result<(), String> {
                match key {
                    $( stringify!($name) => self.$name = parse(raw)?, )+
                    _ => {
                        let url = parse(raw).map_err(|_| "expected a URL, such as \"redis://host:6379\"")?;
                        self.url = Some(PoolSource::Url(url));
                    }
                }
                Ok(())
            }
        }

        /// Shows which settings are set, and hides their values. A value may be secret, because somebody may have written
        /// the password in place of its file's path.
        impl fmt::Debug for PoolConfig {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct("PoolConfig")
                    .field("url", &self.url)
                    $( .field(stringify!($name), &self.$name.is_some()) )+
                    .finish()
            }
        }
    };
}

for_each_pool_setting!(pool!());

/// The address of a pool's node.
pub(crate) enum PoolAddress {
    Memory(String),
    Own(MakeNode),
    Redis(RedisAddress),
}

/// The allowed lengths of the name of a `memory://` store, in bytes.
const LENGTHS_OF_STORES: RangeInclusive<usize> = 1..=64;

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || ".-_".contains(c)
}

impl PoolSource {
    fn address(&self) -> Result<PoolAddress, Invalid> {
        let url = match self {
            Self::Url(url) => url,
            Self::Client(address) => return address.clone().map(PoolAddress::Redis),
            Self::Own(make) => return Ok(PoolAddress::Own(Arc::clone(make))),
        };
        match url.strip_prefix("memory://") {
            None => RedisAddress::parse(url).map(PoolAddress::Redis),
            Some(name)
                if LENGTHS_OF_STORES.contains(&name.len()) && name.chars().all(is_of_a_name) =>
            {
                Ok(PoolAddress::Memory(name.to_owned()))
            }
            // Keep the text out of the error, because it may be the password of another URL.
            Some(_) => Err(Invalid::new(
                "the store of a `memory://` URL has a name of at most 64 letters, digits, `.`, `-` and `_`; write \
                 memory://name",
            )),
        }
    }
}

impl PoolConfig {
    /// Returns the address, or `None` without a URL. Reads the files of the password and of TLS now.
    pub(super) fn address(&self) -> Option<Result<PoolAddress, Invalid>> {
        let address = self.url.as_ref()?.address();
        Some(address.and_then(|address| self.with_files(address)))
    }

    fn with_files(&self, address: PoolAddress) -> Result<PoolAddress, Invalid> {
        let tls = TlsOptions::default()
            .ca(self.tls_ca.clone())
            .certificate(self.tls_cert.clone())
            .key(self.tls_key.clone());
        let PoolAddress::Redis(address) = address else {
            if tls == TlsOptions::default() && self.password_file.is_none() {
                return Ok(address);
            }
            return Err(Invalid::new(
                "`tls_ca`, `tls_cert`, `tls_key` and `password_file` are for the URL of a server, such as \
                 rediss://host; leave them out",
            ));
        };
        let address = address.with_tls(tls)?;
        Ok(PoolAddress::Redis(match &self.password_file {
            Some(file) => address.with_password_file(file)?,
            None => address,
        }))
    }
}

impl PoolAddress {
    /// True for Redis: one server, a master under Sentinel, or a Cluster.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self, Self::Redis(_))
    }

    /// True for a node that the user's function makes. Other processes may share such a node.
    pub(crate) fn is_own(&self) -> bool {
        matches!(self, Self::Own(_))
    }

    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self, Self::Redis(address) if address.is_cluster())
    }

    /// Returns the server's identity, or `None` for a user's own node. Two pools with one identity are one node.
    pub(super) fn server(&self) -> Option<String> {
        match self {
            Self::Memory(name) => Some(format!("memory://{name}")),
            Self::Own(_) => None,
            Self::Redis(address) => Some(address.to_string()),
        }
    }

    /// True for a single Redis server, whose place a replica never takes.
    pub(super) fn is_one_server(&self) -> bool {
        matches!(self, Self::Redis(address) if !address.fails_over())
    }
}

impl fmt::Debug for PoolSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Ok(address) => f.write_str(address.server().as_deref().unwrap_or("a node of your own")),
            Err(_) => f.write_str("not valid"),
        }
    }
}
