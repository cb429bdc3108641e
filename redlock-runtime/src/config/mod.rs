//! The configuration, from code, a TOML file and the environment. [`Config`] has all of it, and the other types are
//! values in it.

mod check;
mod keys;
mod pool_config;
mod read;
mod settings;
mod site_config;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use redis::{AsyncConnectionConfig, Client};
use redlock_core::redis::RedisAddress;
use redlock_core::request::{MAX_TTL, MIN_TTL};
use redlock_core::{Environment, Node, Settings};

pub use redlock_core::redis::Vetting;
pub use redlock_core::restart_check::RestartCheck;

pub(crate) use check::{CONFIRMING, CheckedConfig, check_logins, check_servers};
use pool_config::PoolSource;
pub(crate) use pool_config::{MakeNode, PoolAddress, PoolConfig};
pub use site_config::SiteConfig;

use crate::error::{ConfigError, DEFAULT_CONTENDED_STATUS};
use crate::parameters::{LockOptions, RawValue, argument, parse, words};
use crate::text::{NamedMap, ShownName};
use keys::{KeyPath, key_in};
use read::ConfigReader;
use settings::{
    ensure, for_each_pool_setting, for_each_setting, key_prefix, time_of_shutdown, timeout_of_nodes,
};

words!(RestartCheck: "standard" is Standard, "strict" is Strict, "off" is Off);
words!(Vetting: "refuse" is Refuse, "warn" is Warn);

/// Calls the check of a row, whose closure takes its argument's type from here.
fn checked<T: ?Sized>(check: impl Fn(&T) -> Result<(), String>, value: &T) -> Result<(), String> {
    check(value)
}

/// The configuration, its setters, and the keys of the process's settings.
macro_rules! settings {
    ($(
        $(#[$doc:meta])+
        $section:literal $name:ident: $type:ty = $default:expr
            $(, from $from:ty)? $(, by $by:path)? $(, check $check:expr)?;
    )+) => {
        /// The configuration of a registry, for [`init`](crate::init()). `Debug` shows no password.
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
            pub(crate) pools: BTreeMap<String, PoolConfig>,
            pub(crate) defaults: LockOptions,
            pub(crate) sites: BTreeMap<String, SiteConfig>,
            /// The place of each key that the file or a variable sets. Keys that code sets are left out.
            places: BTreeMap<KeyPath, String>,
            $( pub(crate) $name: $type, )+
        }

        impl Default for Config {
            fn default() -> Self {
                Self {
                    pools: BTreeMap::new(),
                    defaults: LockOptions::NONE,
                    sites: BTreeMap::new(),
                    places: BTreeMap::new(),
                    $( $name: $default, )+
                }
            }
        }

        impl Config {
            $(
                $(#[$doc])+
                #[must_use]
                pub fn $name(mut self, $name: argument!($type $(, from $from)?)) -> Self {
                    $( let $name = $by($name); )?
                    self.$name = $name.into();
                    self.places.remove(&KeyPath::new($section, "", key_in($section, stringify!($name))));
                    self
                }
            )+

            /// Sets the setting at `key` to a source's value.
            fn set_setting(&mut self, key: &KeyPath, raw: &RawValue<'_>) -> Result<(), String> {
                $( if key.is($section, key_in($section, stringify!($name))) {
                    let value: $type = parse(raw)?;
                    $( checked($check, &value)?; )?
                    self.$name = value;
                } )+
                Ok(())
            }

            /// Reports each setting with an invalid value.
            fn check_settings(&self, mut report: impl FnMut(&KeyPath, &str)) {
                $($(
                    if let Err(why) = checked($check, &self.$name) {
                        report(&KeyPath::new($section, "", key_in($section, stringify!($name))), &why);
                    }
                )?)+
            }
        }

        /// The section and the key of each setting.
        const SETTINGS: &[(&str, &str)] = &[ $( ($section, stringify!($name)), )+ ];

        /// Writes names as errors do, because a name may be a URL in the wrong place.
        impl fmt::Debug for Config {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct("Config")
                    .field("pools", &NamedMap(&self.pools))
                    .field("defaults", &self.defaults)
                    .field("sites", &NamedMap(&self.sites))
                    $( .field(
                        stringify!($name),
                        &format_args!("{}", ShownName(&format!("{:?}", self.$name))),
                    ) )+
                    .finish()
            }
        }
    };
}

for_each_setting!(settings!());

/// The setters of a pool's settings, after the pool's name.
macro_rules! pool_setters {
    ($(
        $(#[$doc:meta])+
        $name:ident: $type:ty $(, from $from:ty)?;
    )+) => {
        /// Settings of one pool.
        impl Config {
            $(
                $(#[$doc])+
                #[must_use]
                pub fn $name(
                    mut self,
                    pool: impl Into<String>,
                    $name: argument!($type $(, from $from)?),
                ) -> Self {
                    self.pools.entry(pool.into()).or_default().$name = Some($name.into());
                    self
                }
            )+
        }
    };
}

for_each_pool_setting!(pool_setters!());

impl Config {
    /// Returns the defaults, without a pool. `init` refuses a configuration without pools, because locks in memory must
    /// never replace a Redis that was not configured.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new().pool("a", "redis://10.0.0.1:6379");
    /// ```
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the configuration of the environment. That is the file named by `REDLOCK_CONFIG`, or `redlock.toml` if it
    /// exists, and then the `REDLOCK_*` variables, which override the file.
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
    /// [`ConfigError`] with every problem: an unreadable file, an unknown key or variable, an invalid value, or no
    /// pool.
    pub fn load() -> Result<Self, ConfigError> {
        let mut reader = ConfigReader::over(Self::new());
        reader.read_environment(std::env::vars_os().collect());
        reader.finish_load()
    }

    /// Returns the configuration of a TOML text. The text overrides the defaults.
    ///
    /// ```
    /// let config = redlock_runtime::Config::from_toml("[pools.a]\nurl = \"redis://10.0.0.1:6379\"")?;
    /// let refused = redlock_runtime::Config::from_toml("[pool.a]").unwrap_err();
    /// assert!(refused.to_string().contains("pools"));
    /// # Ok::<_, redlock_runtime::error::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// [`ConfigError`] with every problem and its place in the text.
    pub fn from_toml(text: &str) -> Result<Self, ConfigError> {
        let mut reader = ConfigReader::over(Self::new());
        reader.read_toml("", text);
        reader.finish()
    }

    /// Returns this configuration, overridden by the TOML file at `path`.
    ///
    /// ```
    /// let missing = redlock_runtime::Config::new().with_file("/nowhere/redlock.toml").unwrap_err();
    /// assert!(missing.to_string().contains("/nowhere/redlock.toml"));
    /// ```
    ///
    /// # Errors
    /// [`ConfigError`] if the file cannot be read, or with every problem and its place in the file.
    pub fn with_file(self, path: impl AsRef<Path>) -> Result<Self, ConfigError> {
        let mut reader = ConfigReader::over(self);
        reader.read_file(path.as_ref());
        reader.finish()
    }

    /// Returns this configuration, overridden by the `REDLOCK_*` variables among `variables`.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new().with_env([("REDLOCK_POOLS_A_URL", "redis://10.0.0.1:6379")])?;
    /// # Ok::<_, redlock_runtime::error::ConfigError>(())
    /// ```
    ///
    /// # Errors
    /// [`ConfigError`] with every problem and the variable's name.
    pub fn with_env<K, V>(
        self,
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> Result<Self, ConfigError>
    where
        K: Into<OsString>,
        V: Into<OsString>,
    {
        let mut reader = ConfigReader::over(self);
        let variables = variables.into_iter();
        reader.read_variables(variables.map(|(name, value)| (name.into(), value.into())));
        reader.finish()
    }

    /// Adds a pool, which is one independent node. Its URL begins with `redis://`, `rediss://` (feature `tls`),
    /// `redis+unix://`, `redis+sentinel://`, `redis+cluster://` or `memory://`.
    ///
    /// ```
    /// let config = redlock_runtime::Config::new()
    ///     .pool("a", "redis://10.0.0.1:6379")
    ///     .pool("b", "redis+sentinel://10.0.0.2:26379/shop")
    ///     .pool("c", "memory://c");
    /// ```
    #[must_use]
    pub fn pool(self, name: impl Into<String>, url: impl Into<String>) -> Self {
        self.pool_at(name.into(), PoolSource::Url(url.into()))
    }

    /// Adds the server of a client of your own, with the client's login, database and TLS. The library makes its own
    /// connections to that server. `config` may have a credentials provider, or another resolver of names. Its
    /// timeouts, limits and push sender are ignored. See [the guide](crate::guide::operate::your_own_client).
    ///
    /// ```
    /// let client = redis::Client::open("redis://10.0.0.1:6379")?;
    /// let config = redlock_runtime::Config::new().pool_with("a", &client, None);
    /// # Ok::<_, redis::RedisError>(())
    /// ```
    #[must_use]
    pub fn pool_with(
        self,
        name: impl Into<String>,
        client: &Client,
        config: Option<AsyncConnectionConfig>,
    ) -> Self {
        let address = RedisAddress::of_client(client, config);
        self.pool_at(name.into(), PoolSource::Client(address))
    }

    /// Adds a node of your own, such as a store in a database. `make` receives the library's [clock, randomness and
    /// background tasks](Environment), and returns the node. The node's [name](Node::name) must be the pool's.
    ///
    /// Each start calls `make` once, after the checks that need no server. `make` must not block. A node that has to
    /// connect does so in a task, and abstains until then. Redis pools next to it are checked strictly by default: a new
    /// server first votes after [`max_ttl`](Self::max_ttl). See [the guide](crate::guide::operate::your_own_node).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::sync::Arc;
    /// use redlock_runtime::Config;
    /// use redlock_runtime::registry::MemoryNode;
    ///
    /// let config = Config::new()
    ///     .pool_node("a", |environment| Ok(Arc::new(MemoryNode::new("a", environment.clock))));
    /// let redlock = redlock_runtime::init(config).await?;
    /// redlock_runtime::lock("order:42").run(async {}).await?;
    /// # redlock.shutdown().await;
    /// # Ok(()) }
    /// ```
    ///
    /// An error of `make` fails the start, whose error shows the text and the name of the pool. Words of the text that
    /// may be URLs are hidden, because a URL may have a password. The text must contain no other secret. A panic of
    /// `make` unwinds from the start.
    #[must_use]
    pub fn pool_node(
        self,
        name: impl Into<String>,
        make: impl Fn(Environment) -> Result<Arc<dyn Node>, Box<dyn Error + Send + Sync>>
        + Send
        + Sync
        + 'static,
    ) -> Self {
        self.pool_at(name.into(), PoolSource::Own(Arc::new(make)))
    }

    fn pool_at(mut self, name: String, source: PoolSource) -> Self {
        self.places.remove(&KeyPath::new("pools", &name, "url"));
        self.pools.entry(name).or_default().url = Some(source);
        self
    }

    /// Sets the parameters of locks that leave them out. A parameter that `defaults` leaves out keeps the value of an
    /// earlier call.
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

    /// Sets parameters of one annotated function, which override its attribute. `name` is the attribute's `name`, or
    /// the path of the function.
    ///
    /// `init` and `Redlock::start` refuse the override if the name fits no function of the program, or several.
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
        let own = self.sites.entry(name.into()).or_default();
        *own = site.into().above(std::mem::take(own));
        self
    }

    /// Sets the part of the configuration at `key` to a source's value.
    ///
    /// # Errors
    /// A text that names the expected values.
    fn set(&mut self, key: &KeyPath, raw: &RawValue<'_>) -> Result<(), String> {
        let name = || key.name.clone();
        match key.section {
            "pools" => self.pools.entry(name()).or_default().set(key.key, raw),
            "defaults" => self.defaults.set(key.key, raw),
            "sites" => self.sites.entry(name()).or_default().set(key.key, raw),
            _ => self.set_setting(key, raw),
        }
    }
}

fn to_strings(names: impl IntoIterator<Item = impl Into<String>>) -> Vec<String> {
    names.into_iter().map(Into::into).collect()
}
