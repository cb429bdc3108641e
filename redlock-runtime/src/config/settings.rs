//! Every setting of a process, and every setting of a pool, once.
//!
//! A row is the documentation of the setter, the section of the file, the name, the type and the default. The
//! name is that of the setter and of the field of [`Config`](crate::Config). Without the name of its section
//! it is the key in the file, and with it the variable: `shutdown_grace` of the section `shutdown` is `grace` in
//! `[shutdown]`, and `REDLOCK_SHUTDOWN_GRACE`. After the default comes what a row needs of these:
//! * `from …` is what the setter takes, if that is not the type itself, and `by …` makes the value of it.
//! * `check …` says what is wrong with a value. It holds for all sources, the setter included.
//!
//! To add a setting, begin with a row here: CONTRIBUTING.md has the other steps. `config/mod.rs` expands the rows,
//! and imports the names in them. A type that no other row has needs its `impl ConfigValue`: see
//! `parameters/value.rs`.

use std::time::Duration;

use redlock_core::Resource;
use redlock_core::request::MAX_RESOURCE_BYTES;

/// `for_each_setting!(settings!());` hands all rows of settings of the process to the macro `settings`.
macro_rules! for_each_setting {
    ($make:ident!()) => {
        $make! {
            /// The check of nodes that may have forgotten locks: [`RestartCheck::Standard`] for two
            /// or more Redis pools by default, [`RestartCheck::Off`] for one.
            ///
            /// ```
            /// use redlock_runtime::config::RestartCheck;
            /// let config = redlock_runtime::Config::new().restart_check(RestartCheck::Strict);
            /// ```
            "" restart_check: Option<RestartCheck> = None, from RestartCheck;

            /// The pools of a lock that names none. Without this: all configured pools.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new().default_pools(["a", "b", "c"]);
            /// ```
            "" default_pools: Option<Vec<String>> = None,
                from impl IntoIterator<Item = impl Into<String>>, by to_strings;

            /// The prefix of every resource's name on the nodes. Empty by default.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new().key_prefix("shop:");
            /// ```
            "" key_prefix: String = String::new(), from impl Into<String>, check |prefix| key_prefix(prefix);

            /// The longest ttl of any lock. Default: 5 min. A node that may have forgotten locks does not vote for
            /// this time, so all processes need the same value.
            ///
            /// ```
            /// # use std::time::Duration;
            /// let config = redlock_runtime::Config::new().max_ttl(Duration::from_secs(60));
            /// ```
            "" max_ttl: Duration = Duration::from_secs(300), check |ttl| ensure(
                (MIN_TTL..=MAX_TTL).contains(ttl),
                "it is not from 10 ms to a year; no lock could have such a ttl",
            );

            /// The time for which an attempt that finds no majority waits for answers. Default: 50 ms.
            ///
            /// ```
            /// # use std::time::Duration;
            /// let config = redlock_runtime::Config::new().node_timeout(Duration::from_millis(100));
            /// ```
            "" node_timeout: Duration = Settings::DEFAULT_NODE_TIMEOUT, check timeout_of_nodes;

            /// The longest time of one attempt to connect to a node. Default: 1 s. No call waits for it.
            ///
            /// ```
            /// # use std::time::Duration;
            /// let config = redlock_runtime::Config::new().connect_timeout(Duration::from_secs(2));
            /// ```
            "" connect_timeout: Duration = Duration::from_secs(1), check timeout_of_nodes;

            /// The time for which callers of this process hand a lock over to each other before it is released for
            /// callers of other processes. Default: 5 ms, and longer if the nodes are far away. With zero each
            /// release is a real one.
            ///
            /// ```
            /// # use std::time::Duration;
            /// let config = redlock_runtime::Config::new().handover_time(Duration::from_millis(20));
            /// ```
            "waiting" handover_time: Duration = Settings::DEFAULT_HANDOVER_TIME;

            /// The most callers of this process that may wait for one lock. Default: 10 000. Further callers
            /// are refused at once, as contended.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new().max_callers_per_lock(100);
            /// ```
            "waiting" max_callers_per_lock: u32 = Settings::DEFAULT_MAX_WAITERS_PER_LOCK;

            /// The most callers of this process that may wait for all locks together. Default: 100 000. Further
            /// callers are refused at once, as contended.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new().max_callers(10_000);
            /// ```
            "waiting" max_callers: u32 = Settings::DEFAULT_MAX_WAITERS;

            /// The time that bodies get at shutdown before they are cancelled. Default: 10 s.
            ///
            /// ```
            /// # use std::time::Duration;
            /// let config = redlock_runtime::Config::new().shutdown_grace(Duration::from_secs(5));
            /// ```
            "shutdown" shutdown_grace: Duration = Duration::from_secs(10), check time_of_shutdown;

            /// The longest time of a shutdown, the grace period included. Default: 15 s.
            ///
            /// ```
            /// # use std::time::Duration;
            /// let config = redlock_runtime::Config::new().shutdown_deadline(Duration::from_secs(25));
            /// ```
            "shutdown" shutdown_deadline: Duration = Duration::from_secs(15), check time_of_shutdown;

            /// Releases what is held when a signal ends the program, which need not wait for signals itself. Default:
            /// `false`. At SIGTERM or SIGINT the registry shuts down as by [`Redlock::shutdown`](crate::Redlock::shutdown),
            /// and then the signal ends the process. A second signal ends it at once.
            ///
            /// This has no effect once the program awaits [`shutdown_signal`](crate::shutdown_signal), which a server
            /// should: it then answers its last requests. Leave it off if the program handles these signals by other
            /// means, such as `tokio::signal` or the handlers of actix-web: this setting would still end the process.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new().release_on_exit(true);
            /// ```
            "shutdown" release_on_exit: bool = false;

            /// The HTTP status of a refused caller. Default: 423. 409 and 429 are other usual ones.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new().contended_status(409);
            /// ```
            "http" contended_status: u16 = DEFAULT_CONTENDED_STATUS, check |status| ensure(
                (400..=599).contains(status),
                "it is not from 400 to 599, the statuses of errors; 423, 409 and 429 are usual",
            );
        }
    };
}

/// Hands all rows of settings of a pool to a macro. They have no default: each is `Some` if it is set. The URL has
/// no row, because its setter is `Config::pool`.
macro_rules! for_each_pool_setting {
    ($make:ident!()) => {
        $make! {
            /// The file with the password of this pool's user. The file is read again at each connection, so a password may
            /// rotate.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new()
            ///     .pool("a", "redis://locker@10.0.0.1:6379")
            ///     .password_file("a", "/run/secrets/redis");
            /// ```
            password_file: PathBuf, from impl Into<PathBuf>;

            /// The response of `init` if a lock cannot rely on this pool's server: a replica, or a
            /// server that evicts keys. By default it refuses the pool.
            ///
            /// ```
            /// use redlock_runtime::config::Vetting;
            /// let config = redlock_runtime::Config::new().pool("a", "redis://10.0.0.1:6379").vetting("a", Vetting::Warn);
            /// ```
            vetting: Vetting;

            /// True if this pool's server forgets nothing when it restarts, so that it may vote at once: it has
            /// `appendonly yes`, `appendfsync always` and `no-appendfsync-on-rewrite no`, and no replica
            /// takes its place.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new().pool("a", "redis://10.0.0.1:6379").trust_aof("a", true);
            /// ```
            trust_aof: bool;

            /// The PEM file with the CAs that may have issued the certificate of this pool's server, in the
            /// place of the system's. Like all TLS settings, it is for `rediss://` URLs.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new()
            ///     .pool("a", "rediss://10.0.0.1:6380")
            ///     .tls_ca("a", "/etc/shop/redis-ca.pem");
            /// ```
            tls_ca: PathBuf, from impl Into<PathBuf>;

            /// The PEM file with the certificate that this pool's server is shown.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new()
            ///     .pool("a", "rediss://10.0.0.1:6380")
            ///     .tls_cert("a", "/etc/shop/client.pem")
            ///     .tls_key("a", "/etc/shop/client.key");
            /// ```
            tls_cert: PathBuf, from impl Into<PathBuf>;

            /// The PEM file with the private key of [`tls_cert`](Self::tls_cert).
            ///
            /// ```
            /// let config = redlock_runtime::Config::new()
            ///     .pool("a", "rediss://10.0.0.1:6380")
            ///     .tls_cert("a", "/etc/shop/client.pem")
            ///     .tls_key("a", "/etc/shop/client.key");
            /// ```
            tls_key: PathBuf, from impl Into<PathBuf>;
        }
    };
}

pub(super) use {for_each_pool_setting, for_each_setting};

/// The longest timeout. Sums of such timeouts never overflow.
const A_DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) fn ensure(is_right: bool, why: &str) -> Result<(), String> {
    is_right.then_some(()).ok_or_else(|| why.to_owned())
}

pub(super) fn timeout_of_nodes(timeout: &Duration) -> Result<(), String> {
    ensure(
        (Duration::from_millis(1)..=A_DAY).contains(timeout),
        "it is not from 1 ms to a day; in less, no node could ever answer",
    )
}

pub(super) fn time_of_shutdown(time: &Duration) -> Result<(), String> {
    ensure(
        *time <= A_DAY,
        "it is above a day, the longest that is allowed",
    )
}

pub(super) fn key_prefix(prefix: &str) -> Result<(), String> {
    let keys = Resource::from("check").keys_under(prefix.as_bytes());
    ensure(
        prefix.len() <= MAX_RESOURCE_BYTES,
        "it is longer than 1024 bytes",
    )?;
    ensure(
        keys.is_ok(),
        "it has `redlock:` + `fence:`, `once:`, `permit:`, `readers:`, `intent:` or `turn:` in it, where the \
         library keeps keys of its own; choose another one",
    )
}
