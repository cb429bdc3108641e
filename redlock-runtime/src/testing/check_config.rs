//! Checks the configuration of a service before its servers exist.

use crate::config::{CheckedConfig, Config};
use crate::error::InitError;

/// Checks a configuration, and every annotated function of the program against it, as
/// [`init`](crate::init()) does before it connects.
///
/// # Example: the service's own file
/// ```
/// use redlock_runtime::{Config, testing};
///
/// // In a test: Config::from_toml(include_str!("../redlock.toml"))
/// let config = Config::from_toml("[pools.a]\nurl = \"redis://10.0.0.1:6379\"").unwrap();
/// testing::check_config(&config).unwrap();
/// ```
///
/// # Errors
/// [`InitError`] with every problem: a function that names a pool which is not configured, a ttl above
/// `max_ttl`, and so on.
pub fn check_config(config: &Config) -> Result<(), InitError> {
    CheckedConfig::with_all_sites(config.clone()).map(|_| ())
}
