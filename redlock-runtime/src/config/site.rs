//! What the configuration says of single functions.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use redlock_core::{OnLost, Renewal, RetryLimit};

use super::shown::{NamedMap, Names};
use crate::parameters::{MinValidity, OnCancel, Parameters, Wait};

/// What the configuration says of one annotated function, above its attribute: see
/// [`Config::site`](super::Config::site). What it leaves out stays as the attribute has it.
///
/// What a function locks, and what it does where somebody else holds that, is part of what it means,
/// so that there is no override of `resource`, `if_locked` and `guard`.
#[derive(Clone, Default, PartialEq)]
#[must_use]
pub struct SiteConfig {
    pub(crate) pools: Option<Vec<String>>,
    pub(crate) parameters: Parameters,
}

impl SiteConfig {
    /// Overrides nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// The pools that it locks on. A function that has to exclude another one needs the same.
    pub fn pools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.pools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// The auto-release time.
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.parameters.ttl = Some(ttl);
        self
    }

    /// How many retries follow the first attempt. Of this and [`wait`](Self::wait), the one that is
    /// said last counts.
    pub fn retry_count(mut self, count: u32) -> Self {
        self.parameters.limit = Some(RetryLimit::Count(count));
        self
    }

    /// Keeps trying for so long, a hard bound, or [forever](Wait::Forever), instead of a number of
    /// retries.
    pub fn wait(mut self, wait: impl Into<Wait>) -> Self {
        self.parameters.limit = Some(wait.into().limit());
        self
    }

    /// Between attempts passes a random time between half of this and this.
    pub fn retry_delay(mut self, delay: Duration) -> Self {
        self.parameters.retry_delay = Some(delay);
        self
    }

    /// The drift allowed for is ttl × this + 2 ms.
    pub fn clock_drift_factor(mut self, factor: f64) -> Self {
        self.parameters.clock_drift_factor = Some(factor);
        self
    }

    /// An acquisition that leaves less validity is given up and retried: a [`Duration`], or a part
    /// of the ttl such as `0.66`.
    pub fn min_validity(mut self, least: impl Into<MinValidity>) -> Self {
        self.parameters.min_validity = Some(least.into());
        self
    }

    /// For how long the lease is renewed by itself: a [`Duration`], or [`Renewal::Unlimited`].
    pub fn max_hold(mut self, held: impl Into<Renewal>) -> Self {
        self.parameters.max_hold = Some(held.into());
        self
    }

    /// How long the lock is kept at least.
    pub fn min_hold(mut self, held: Duration) -> Self {
        self.parameters.min_hold = Some(held);
        self
    }

    /// Whether a fencing token is taken. A body that was written for one may rely on it.
    pub fn fencing(mut self, fencing: bool) -> Self {
        self.parameters.fencing = Some(fencing);
        self
    }

    /// What happens to the body when its lease ends.
    pub fn on_lost(mut self, on_lost: OnLost) -> Self {
        self.parameters.on_lost = Some(on_lost);
        self
    }

    /// What happens to the lock when its body is cut off in the middle.
    pub fn on_cancel(mut self, on_cancel: OnCancel) -> Self {
        self.parameters.on_cancel = Some(on_cancel);
        self
    }

    pub(crate) fn above(self, lower: Self) -> Self {
        Self {
            pools: self.pools.or(lower.pools),
            parameters: self.parameters.above(lower.parameters),
        }
    }
}

impl fmt::Debug for SiteConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pools = self.pools.as_deref().map(Names);
        f.debug_struct("SiteConfig")
            .field("pools", &pools)
            .field("parameters", &self.parameters)
            .finish()
    }
}

/// What the configuration says of all of them.
#[derive(Clone, Default)]
pub(crate) struct SiteConfigs {
    /// From code and files, by the site's name.
    pub(crate) named: BTreeMap<String, SiteConfig>,
    /// From variables, by the name as a variable has it. Which site that is only the list of sites can
    /// tell. They are above the others.
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

fn put(configs: &mut BTreeMap<String, SiteConfig>, name: String, config: SiteConfig) {
    let below = configs.remove(&name).unwrap_or_default();
    configs.insert(name, config.above(below));
}

/// A site's name as it stands in a variable: `SHOP__ORDERS__CHARGE`.
pub(crate) fn spelled(name: &str) -> String {
    let upper = |c: char| match c {
        c if c.is_ascii_alphanumeric() => c.to_ascii_uppercase(),
        _ => '_',
    };
    name.replace("::", "__").chars().map(upper).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_spelled_as_a_variable_can_be() {
        for (name, expected) in [
            ("shop::orders::charge", "SHOP__ORDERS__CHARGE"),
            ("my_crate::a2", "MY_CRATE__A2"),
            ("nightly-report v2", "NIGHTLY_REPORT_V2"),
            ("größe", "GR__E"),
        ] {
            assert_eq!(spelled(name), expected);
        }
    }

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
