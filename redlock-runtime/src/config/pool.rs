//! A pool's URL.

use std::fmt;

use redlock_core::{Invalid, RedisAddress, Vetting};
use serde::Deserialize;

/// A pool's URL, with whatever password it has. `Debug` shows the server only.
#[derive(Clone, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct PoolUrl(String);

/// How a pool's server is looked at; `None` leaves it to the layer below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PoolSettings {
    pub(crate) vetting: Option<Vetting>,
    pub(crate) trust_aof: Option<bool>,
}

impl PoolSettings {
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            vetting: self.vetting.or(below.vetting),
            trust_aof: self.trust_aof.or(below.trust_aof),
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
            Some(name) => Ok(PoolAddress::Memory(name.to_owned())),
        }
    }
}

impl PoolAddress {
    pub(crate) fn is_cluster(&self) -> bool {
        matches!(self, Self::Redis(address) if address.is_cluster())
    }

    /// Two pools with the same one are one node.
    pub(crate) fn server(&self) -> String {
        match self {
            Self::Memory(name) => format!("memory://{name}"),
            Self::Redis(address) => address.server(),
        }
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
