//! Checks the configuration of a service before its servers exist.

use crate::config::{CheckedConfig, Config};
use crate::error::InitError;

/// Checks a configuration, and every annotated function of the program against it.
///
/// These are the checks that [`init`](crate::init()) makes before it connects.
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
/// Returns an [`InitError`] with every problem, such as a function that names an unknown pool, or a ttl above
/// `max_ttl`.
pub fn check_config(config: &Config) -> Result<(), InitError> {
    CheckedConfig::with_all_sites(config.clone()).map(|_| ())
}
