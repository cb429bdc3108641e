//! Overrides of the configuration for single functions.

use std::fmt;

use crate::parameters::prelude::*;
use crate::parameters::{RawValue, parse};
use crate::text::ShownName;

/// The override of one annotated function: parameters and pools that replace those of its attribute.
/// [`Config::site`](crate::Config::site) takes it. A parameter that is left out keeps its value.
///
/// `resource`, `if_locked`, `guard`, `note`, `name` and `crate` have no override, because they are part of the
/// function's meaning.
///
/// ```
/// use std::time::Duration;
/// use redlock_runtime::config::SiteConfig;
///
/// let slow = SiteConfig::new().pools(["a"]).ttl(Duration::from_secs(10)).retry_count(0);
/// let config = redlock_runtime::Config::new().site("shop::orders::charge", slow);
/// ```
#[derive(Clone, Default, PartialEq)]
#[must_use]
pub struct SiteConfig {
    pub(crate) pools: Option<Vec<String>>,
    pub(crate) options: LockOptions,
}

impl SiteConfig {
    /// Returns an empty override.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the pools on which the function locks. Functions exclude each other only on the same pools.
    pub fn pools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.pools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Merges two overrides. The values of this one win over those of `lower`.
    pub(crate) fn above(self, lower: Self) -> Self {
        Self {
            pools: self.pools.or(lower.pools),
            options: self.options.above(lower.options),
        }
    }

    /// Sets `key` to a source's value.
    ///
    /// # Errors
    /// Returns a text that names the expected values.
    pub(super) fn set(&mut self, key: &str, raw: &RawValue<'_>) -> Result<(), String> {
        match key {
            "pools" => self.pools = parse(raw)?,
            key => self.options.set(key, raw)?,
        }
        Ok(())
    }
}

for_each_parameter!(setters!(SiteConfig, it => it.options));

/// Makes an override that keeps the pools of the attribute.
impl From<LockOptions> for SiteConfig {
    fn from(options: LockOptions) -> Self {
        Self {
            pools: None,
            options,
        }
    }
}

impl fmt::Debug for SiteConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pools = self.pools.as_ref().map(|names| names.iter());
        let pools = pools.map(|names| names.map(|name| ShownName(name)).collect::<Vec<_>>());
        f.debug_struct("SiteConfig")
            .field("pools", &pools)
            .field("options", &self.options)
            .finish()
    }
}
