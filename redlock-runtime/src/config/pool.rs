//! A pool's URL.

use std::fmt;

use redlock_core::{Invalid, RedisAddress, TlsOptions, Vetting};
use serde::Deserialize;

/// A pool's URL, with whatever password it has. `Debug` shows the server only.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct PoolUrl(String);

/// Of the name of a `memory://` store, in bytes.
const LONGEST_STORE: usize = 64;

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || ".-_".contains(c)
}

/// How a pool's server is looked at and verified; `None` leaves it to the layer below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolSettings {
    pub(crate) vetting: Option<Vetting>,
    pub(crate) trust_aof: Option<bool>,
    pub(crate) tls: TlsOptions,
}

impl PoolSettings {
    pub(super) fn over(self, below: Self) -> Self {
        let mut tls = self.tls;
        tls.ca = tls.ca.or(below.tls.ca);
        tls.certificate = tls.certificate.or(below.tls.certificate);
        tls.key = tls.key.or(below.tls.key);
        tls.server_name = tls.server_name.or(below.tls.server_name);
        Self {
            vetting: self.vetting.or(below.vetting),
            trust_aof: self.trust_aof.or(below.trust_aof),
            tls,
        }
    }
}

/// Where a pool is.
pub(crate) enum PoolAddress {
    Memory(String),
    Redis(RedisAddress),
}

impl PoolUrl {
    pub(crate) fn new(url: impl Into<String>) -> Self {
        Self(url.into())
    }

    pub(crate) fn address(&self) -> Result<PoolAddress, Invalid> {
        match self.0.strip_prefix("memory://") {
            None => RedisAddress::parse(&self.0).map(PoolAddress::Redis),
            Some("") => Err(Invalid::new(
                "`memory://` names no store; write memory://name",
            )),
            Some(name) if name.len() <= LONGEST_STORE && name.chars().all(is_of_a_name) => {
                Ok(PoolAddress::Memory(name.to_owned()))
            }
            // A name is shown; what stands there may have been meant as another URL's password.
            Some(_) => Err(Invalid::new(
                "the store of a `memory://` URL has a name of at most 64 letters, digits, `.`, `-` \
                 and `_`",
            )),
        }
    }
}

impl PoolAddress {
    /// The same, verified by `options`, whose files are read.
    pub(crate) fn with_tls(self, options: TlsOptions) -> Result<Self, Invalid> {
        match self {
            Self::Redis(address) => address.with_tls(options).map(Self::Redis),
            Self::Memory(name) if options == TlsOptions::default() => Ok(Self::Memory(name)),
            Self::Memory(_) => Err(Invalid::new(
                "`tls_ca`, `tls_cert`, `tls_key` and `tls_server_name` are for rediss:// URLs; leave \
                 them out",
            )),
        }
    }

    /// Two pools with the same one are one node.
    pub(crate) fn server(&self) -> String {
        match self {
            Self::Memory(name) => format!("memory://{name}"),
            Self::Redis(address) => address.server(),
        }
    }

    /// Whether a replica may take the place of the server.
    pub(crate) fn fails_over(&self) -> bool {
        matches!(self, Self::Redis(address) if address.fails_over())
    }
}

impl fmt::Debug for PoolUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.address() {
            Ok(address) => write!(f, "PoolUrl({})", address.server()),
            Err(_) => f.write_str("PoolUrl(not valid)"),
        }
    }
}
