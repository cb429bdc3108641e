//! Configuration: from code, a TOML file, and the environment. [`Config`] is all of it, and the other
//! types are values in it.

mod debug;
mod env;
mod file;
mod keys;
mod layer;
mod pool;
mod site;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use redis::{AsyncConnectionConfig, Client};
use redlock_core::Settings;
use redlock_core::redis::RedisAddress;
use redlock_core::waiting::Handover;

pub use redlock_core::redis::Vetting;
pub use redlock_core::restart_check::RestartCheck;

pub(crate) use pool::{PoolAddress, PoolSettings, PoolSource};
pub use site::SiteConfig;
pub(crate) use site::SiteConfigs;

use crate::error::{ConfigError, HttpSettings};
use crate::parameters::LockOptions;
use crate::text::Name;
use file::File;

/// The file that [`Config::load`] reads if `REDLOCK_CONFIG` names no other.
const DEFAULT_FILE: &str = "redlock.toml";

/// What [`init`](crate::init()) needs to know. `Debug` shows no password.
///
/// # Example: from code
/// ```
/// use redlock_runtime::Config;
///
/// let config = Config::new()
///     .pool("a", "redis://10.0.0.1:6379")
///     .pool("b", "redis://10.0.0.2:6379")
///     .pool("c", "redis://10.0.0.3:6379")
///     .key_prefix("shop:");
/// # assert!(!format!("{config:?}").is_empty());
/// ```
#[derive(Clone)]
pub struct Config {
    pub(crate) pools: BTreeMap<String, PoolSource>,
    pub(crate) pool_settings: BTreeMap<String, PoolSettings>,
    pub(crate) restart_check: Option<RestartCheck>,
    pub(crate) default_pools: Option<Vec<String>>,
    pub(crate) defaults: LockOptions,
    pub(crate) sites: SiteConfigs,
    pub(crate) key_prefix: String,
    pub(crate) max_ttl: Duration,
    pub(crate) node_timeout: Duration,
    pub(crate) connect_timeout: Duration,
    pub(crate) handover: Handover,
    /// The most callers that may wait for one lock, and for all locks together.
    pub(crate) max_waiting: (usize, usize),
    pub(crate) shutdown_grace: Duration,
    pub(crate) shutdown_deadline: Duration,
    pub(crate) release_on_exit: bool,
    pub(crate) http: HttpSettings,
}

impl Default for Config {
    fn default() -> Self {
        Self::new()
    }
}

impl Config {
    /// The defaults, without a pool. `init` refuses a configuration without pools: no lock is ever
    /// kept in memory because Redis was not configured.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new().pool("a", "redis://10.0.0.1:6379");
    /// ```
    pub fn new() -> Self {
        let client = Settings::default();
        Self {
            pools: BTreeMap::new(),
            pool_settings: BTreeMap::new(),
            restart_check: None,
            default_pools: None,
            defaults: LockOptions::NONE,
            sites: SiteConfigs::default(),
            key_prefix: String::new(),
            max_ttl: Duration::from_secs(5 * 60),
            node_timeout: client.node_timeout,
            connect_timeout: Duration::from_secs(1),
            handover: client.handover,
            max_waiting: (client.max_waiters_per_lock, client.max_waiters),
            shutdown_grace: Duration::from_secs(10),
            shutdown_deadline: Duration::from_secs(15),
            release_on_exit: false,
            http: HttpSettings::default(),
        }
    }

    /// Reads the file named by `REDLOCK_CONFIG`, or `redlock.toml` if it exists, and then the
    /// `REDLOCK_*` variables, which override the file.
    ///
    /// ```
    /// # use redlock_runtime::Config;
    /// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
    /// let redlock = redlock_runtime::init(Config::load()?).await?;
    /// # redlock.shutdown().await;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`ConfigError`] if the file cannot be read, if the file or a variable has something unknown, or
    /// if there is no pool.
    pub fn load() -> Result<Self, ConfigError> {
        let variables: Vec<_> = std::env::vars_os().collect();
        let named = variables.iter().find(|(name, _)| name == env::CONFIG_FILE);
        let mut config = Self::new();
        if let Some((_, path)) = named {
            config = config.with_file(Path::new(path))?;
        } else if Path::new(DEFAULT_FILE).exists() {
            config = config.with_file(Path::new(DEFAULT_FILE))?;
        }
        let config = config.with_env(variables)?;
        if config.pools.is_empty() {
            return Err(ConfigError(no_pools()));
        }
        Ok(config)
    }

    /// The configuration of a TOML text. The text overrides the defaults.
    ///
    /// ```
    /// let config = redlock_runtime::Config::from_toml("[pools.a]\nurl = \"redis://10.0.0.1:6379\"")?;
    /// let refused = redlock_runtime::Config::from_toml("[pool.a]").unwrap_err();
    /// assert!(refused.to_string().contains("pools"));
    /// # Ok::<_, redlock_runtime::error::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// [`ConfigError`] with the place in the text.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        Ok(File::parse(text).map_err(ConfigError)?.over(Self::new()))
    }

    /// This configuration, overridden by the TOML file at `path`.
    ///
    /// ```
    /// let missing = redlock_runtime::Config::new().with_file("/nowhere/redlock.toml").unwrap_err();
    /// assert!(missing.to_string().contains("/nowhere/redlock.toml"));
    /// ```
    ///
    /// # Errors
    /// [`ConfigError`] if the file cannot be read, or with the place of the fault in it.
    pub fn with_file(self, path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let path: PathBuf = path.as_ref().into();
        let shown = path.to_string_lossy();
        let in_file = |reason: String| ConfigError(format!("{}: {reason}", Name(&shown)));
        let text = std::fs::read_to_string(&path).map_err(|error| in_file(error.to_string()))?;
        Ok(File::parse(&text).map_err(in_file)?.over(self))
    }

    /// This configuration, overridden by the `REDLOCK_*` variables among `variables`.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new().with_env([("REDLOCK_POOLS_A_URL", "redis://10.0.0.1:6379")])?;
    /// # Ok::<_, redlock_runtime::error::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// [`ConfigError`] with the variable's name.
    pub fn with_env<K, V>(
        self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, ConfigError>
    where
        K: Into<std::ffi::OsString>,
        V: Into<std::ffi::OsString>,
    {
        let variables = variables
            .into_iter()
            .map(|(name, value)| (name.into(), value.into()));
        let mut read = env::read(variables).map_err(ConfigError)?;
        let pools: BTreeSet<_> = self.pools.keys().chain(self.pool_settings.keys()).collect();
        env::reach(&mut read, pools.into_iter()).map_err(ConfigError)?;
        Ok(read.over(self))
    }

    /// Adds a pool, one independent node: `redis://`, `rediss://` (feature `tls`), `redis+unix://`,
    /// `redis+sentinel://` (feature `sentinel`), `redis+cluster://` (feature `cluster`) or `memory://`.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new()
    ///     .pool("a", "redis://10.0.0.1:6379")
    ///     .pool("b", "redis+sentinel://10.0.0.2:26379/shop")
    ///     .pool("c", "memory://c");
    /// ```
    #[must_use]
    pub fn pool(mut self, name: impl Into<String>, url: impl Into<String>) -> Self {
        let url = PoolSource::Url(url.into());
        self.pools.insert(name.into(), url);
        self
    }

    /// Adds the server of a client of your own, with the client's login, database and TLS. The library makes its own
    /// connections to it. `config` brings a credentials provider, or another resolver of names; its timeouts, limits
    /// and push sender are not used. See [the guide](crate::guide::operate::your_own_client).
    ///
    /// ```
    /// let client = redis::Client::open("redis://10.0.0.1:6379")?;
    /// let config = redlock_runtime::Config::new().pool_with("a", &client, None);
    /// # Ok::<_, redis::RedisError>(())
    /// ```
    #[must_use]
    pub fn pool_with(
        mut self,
        name: impl Into<String>,
        client: &Client,
        config: Option<AsyncConnectionConfig>,
    ) -> Self {
        let address = RedisAddress::of_client(client, config);
        self.pools.insert(name.into(), PoolSource::Client(address));
        self
    }

    /// What is done about nodes that may have forgotten locks: [`RestartCheck::Standard`] for two
    /// or more Redis pools by default, [`RestartCheck::Off`] for one.
    ///
    /// ```
    /// use redlock_runtime::config::RestartCheck;
    /// let config = redlock_runtime::Config::new().restart_check(RestartCheck::Strict);
    /// ```
    #[must_use]
    pub fn restart_check(mut self, restart_check: RestartCheck) -> Self {
        self.restart_check = Some(restart_check);
        self
    }

    /// The pools of a lock that names none. Without this: all configured pools.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new().default_pools(["a", "b", "c"]);
    /// ```
    #[must_use]
    pub fn default_pools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.default_pools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// The prefix of every resource's name on the nodes. Empty by default.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new().key_prefix("shop:");
    /// ```
    #[must_use]
    pub fn key_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.key_prefix = prefix.into();
        self
    }

    /// Sets the parameters of locks that do not set them. A parameter that an earlier call set and
    /// `defaults` leaves out keeps its value.
    ///
    /// # Example: locks that wait
    /// ```
    /// use std::time::Duration;
    /// use redlock_runtime::parameters::LockOptions;
    /// use redlock_runtime::Config;
    ///
    /// let config = Config::new()
    ///     .pool("a", "redis://10.0.0.1:6379")
    ///     .defaults(LockOptions::new().wait(Duration::from_secs(5)));
    /// # assert!(!format!("{config:?}").is_empty());
    /// ```
    #[must_use]
    pub fn defaults(mut self, defaults: LockOptions) -> Self {
        self.defaults = defaults.above(self.defaults);
        self
    }

    /// The longest ttl of any lock: 5 min by default. A node that may have forgotten locks does not
    /// vote for this time, so all processes need the same value.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let config = redlock_runtime::Config::new().max_ttl(Duration::from_secs(60));
    /// ```
    #[must_use]
    pub fn max_ttl(mut self, max_ttl: Duration) -> Self {
        self.max_ttl = max_ttl;
        self
    }

    /// How long an attempt that finds no majority waits for answers: 50 ms by default.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let config = redlock_runtime::Config::new().node_timeout(Duration::from_millis(100));
    /// ```
    #[must_use]
    pub fn node_timeout(mut self, timeout: Duration) -> Self {
        self.node_timeout = timeout;
        self
    }

    /// How long one attempt to connect to a node may take: 1 s by default. No call waits for it.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let config = redlock_runtime::Config::new().connect_timeout(Duration::from_secs(2));
    /// ```
    #[must_use]
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.connect_timeout = timeout;
        self
    }

    /// How often, and for how long, callers of this process hand a lock over to each other before it
    /// is released for those of other processes: 32 times and 50 ms by default. With zero times each
    /// release is a real one.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let config = redlock_runtime::Config::new().handovers(8, Duration::from_millis(20));
    /// ```
    #[must_use]
    pub fn handovers(mut self, most: u32, longest: Duration) -> Self {
        self.handover = Handover { most, longest };
        self
    }

    /// How many callers of this process may wait for one lock, and how many in all. Further callers
    /// are refused at once, as contended: 10 000 and 100 000 by default.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new().max_waiting(100, 10_000);
    /// ```
    #[must_use]
    pub fn max_waiting(mut self, per_lock: usize, in_all: usize) -> Self {
        self.max_waiting = (per_lock, in_all);
        self
    }

    /// The time that bodies get at shutdown before they are cancelled: 10 s by default.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let config = redlock_runtime::Config::new().shutdown_grace(Duration::from_secs(5));
    /// ```
    #[must_use]
    pub fn shutdown_grace(mut self, grace: Duration) -> Self {
        self.shutdown_grace = grace;
        self
    }

    /// How long a shutdown may take in all, the grace period included: 15 s by default.
    ///
    /// ```
    /// # use std::time::Duration;
    /// let config = redlock_runtime::Config::new().shutdown_deadline(Duration::from_secs(25));
    /// ```
    #[must_use]
    pub fn shutdown_deadline(mut self, deadline: Duration) -> Self {
        self.shutdown_deadline = deadline;
        self
    }

    /// Releases what is held when a signal ends the program, which need not wait for signals itself: false by
    /// default. At SIGTERM or SIGINT the registry shuts down as by [`Redlock::shutdown`](crate::Redlock::shutdown),
    /// and then the signal ends the process. A second signal ends it at once.
    ///
    /// This has no effect once the program awaits [`shutdown_signal`](crate::shutdown_signal), which a server
    /// should: it then answers its last requests. Leave it off if the program handles these signals by other
    /// means, such as `tokio::signal` or the handlers of actix-web: the process ends as if it did not.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new().release_on_exit(true);
    /// ```
    #[must_use]
    pub fn release_on_exit(mut self, release: bool) -> Self {
        self.release_on_exit = release;
        self
    }

    /// The HTTP status of a refused caller: 423 by default. 409 and 429 are other usual ones.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new().contended_status(409);
    /// ```
    #[must_use]
    pub fn contended_status(mut self, status: u16) -> Self {
        self.http.contended_status = status;
        self
    }
}

pub(crate) fn no_pools() -> String {
    "no pools are configured, so no lock could be taken; write `[pools.a]` with `url = \
     \"redis://host:6379\"` into redlock.toml, or set REDLOCK_POOLS_A_URL (`memory://a` for \
     development)"
        .to_owned()
}
