//! What the configuration says of single functions.

use std::collections::BTreeMap;
use std::fmt;

use super::Config;
use crate::parameters::prelude::*;
use crate::text::{NamedMap, Names};

/// The parameters and the pools of one annotated function, above its attribute ([`Config::site`]). A
/// parameter that is left out keeps its value.
///
/// `resource`, `if_locked`, `guard`, `note`, `name` and `crate` have no override, as they are part of the
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
    /// Overrides nothing.
    ///
    /// ```
    /// use redlock_runtime::config::SiteConfig;
    /// assert_eq!(SiteConfig::new(), SiteConfig::default());
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// The pools on which the function locks. Two functions that exclude each other need the same
    /// pools.
    ///
    /// ```
    /// use redlock_runtime::config::SiteConfig;
    /// let site = SiteConfig::new().pools(["a", "b", "c"]);
    /// ```
    pub fn pools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.pools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    fn options_mut(&mut self) -> &mut LockOptions {
        &mut self.options
    }

    pub(crate) fn above(self, lower: Self) -> Self {
        Self {
            pools: self.pools.or(lower.pools),
            options: self.options.above(lower.options),
        }
    }
}

for_each_parameter!(setters!(SiteConfig));

impl Config {
    /// What is said of one annotated function, above its attribute, by the site's name: what the
    /// attribute's `name` says, or the function's path. Variables win over it.
    ///
    /// `init` and `Redlock::start` refuse the override if no function of the program has the name,
    /// or if several have it.
    ///
    /// # Example: a longer ttl for one function
    /// ```
    /// use std::time::Duration;
    /// use redlock_runtime::config::SiteConfig;
    /// use redlock_runtime::Config;
    ///
    /// let config = Config::new()
    ///     .pool("a", "redis://10.0.0.1:6379")
    ///     .site("shop::orders::charge", SiteConfig::new().ttl(Duration::from_secs(10)));
    /// # assert!(!format!("{config:?}").is_empty());
    /// ```
    #[must_use]
    pub fn site(mut self, name: impl Into<String>, site: impl Into<SiteConfig>) -> Self {
        self.sites.add(name.into(), site.into());
        self
    }
}

/// The pools stay those that the attribute names.
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
        let pools = self.pools.as_deref().map(Names);
        f.debug_struct("SiteConfig")
            .field("pools", &pools)
            .field("options", &self.options)
            .finish()
    }
}

/// The overrides of all sites.
#[derive(Clone, Default)]
pub(crate) struct SiteConfigs {
    /// From code and files, by the site's name.
    pub(crate) named: BTreeMap<String, SiteConfig>,
    /// Overrides from variables, by the name in the variable. Only the list of sites can tell which
    /// site that is. They override all others.
    pub(crate) spelled: BTreeMap<String, SiteConfig>,
}

impl SiteConfigs {
    pub(crate) fn add(&mut self, name: String, config: SiteConfig) {
        put(&mut self.named, name, config);
    }

    pub(crate) fn add_spelled(&mut self, name: String, config: SiteConfig) {
        put(&mut self.spelled, name, config);
    }
}

impl fmt::Debug for SiteConfigs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SiteConfigs")
            .field("named", &NamedMap(&self.named))
            .field("spelled", &NamedMap(&self.spelled))
            .finish()
    }
}

/// Puts `config` above what is said of that name.
fn put(configs: &mut BTreeMap<String, SiteConfig>, name: String, config: SiteConfig) {
    let below = configs.remove(&name).unwrap_or_default();
    configs.insert(name, config.above(below));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_later_is_above() {
        let mut configs = SiteConfigs::default();
        let seconds = Duration::from_secs;
        let first = SiteConfig::new().ttl(seconds(1)).retry_count(5);
        configs.add("a".into(), first.pools(["x"]));
        let second = SiteConfig::new().ttl(seconds(2)).wait(Wait::Forever);
        configs.add("a".into(), second);
        let expected = SiteConfig::new().ttl(seconds(2)).wait(Wait::Forever);
        assert_eq!(configs.named["a"], expected.pools(["x"]));
    }
}
