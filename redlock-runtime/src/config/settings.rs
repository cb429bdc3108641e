//! The tables of all settings, of a process and of a pool.
//!
//! A row has the documentation of the setter, the section of the file, the name, the type and the default. The setter
//! and the field of [`Config`](crate::Config) have the row's name. The key in the file is the row's name without the
//! section. The variable has the whole name. For example, `shutdown_grace` of the section `shutdown` is `grace` in
//! `[shutdown]`, and `REDLOCK_SHUTDOWN_GRACE`. Optional parts follow the default:
//! * `from …` is the type of the setter's argument, if it differs from the row's type. `by …` converts the argument.
//! * `check …` returns the fault of a value, whether a source or the setter gave the value.
//!
//! To add a setting, begin with a row here, and follow the steps of CONTRIBUTING.md. `config/mod.rs` expands the rows,
//! and imports the names in them. A new type needs an `impl ConfigValue`; see `parameters/value.rs`.

use std::time::Duration;

use redlock_core::Resource;
use redlock_core::request::MAX_RESOURCE_BYTES;

/// Passes the rows of a process's settings to a macro: `for_each_setting!(settings!());`.
macro_rules! for_each_setting {
    ($make:ident!()) => {
        $make! {
            /// Sets the check of nodes that may have forgotten locks. The default depends on the pools:
            /// [`RestartCheck::Strict`] if one is a node of your own, otherwise [`RestartCheck::Standard`] for two or more
            /// Redis pools, and [`RestartCheck::Off`] for one.
            ///
            /// ```
            /// use redlock_runtime::config::RestartCheck;
            /// let config = redlock_runtime::Config::new().restart_check(RestartCheck::Strict);
            /// ```
            "" restart_check: Option<RestartCheck> = None, from RestartCheck;

            /// Sets the default pools, for locks that name no pools. By default these are all configured pools.
            "" default_pools: Option<Vec<String>> = None,
                from impl IntoIterator<Item = impl Into<String>>, by to_strings;

            /// Sets the prefix of every resource's name on the nodes. Empty by default.
            "" key_prefix: String = String::new(), from impl Into<String>, check |prefix| key_prefix(prefix);

            /// Sets the longest ttl of any lock. Default: 5 min. A node that may have forgotten locks abstains for this
            /// time, so all processes need the same value. With a value below a minute, lower the default ttl as well, by
            /// [`defaults`](Self::defaults).
            "" max_ttl: Duration = Duration::from_secs(300), check |ttl| ensure(
                (MIN_TTL..=MAX_TTL).contains(ttl),
                "it is not from 10 ms to a year; no lock could have such a ttl",
            );

            /// Sets the longest wait of an attempt for the answers of nodes. Default: 50 ms. A majority ends the wait
            /// sooner.
            "" node_timeout: Duration = Settings::DEFAULT_NODE_TIMEOUT, check timeout_of_nodes;

            /// Sets the longest time of one attempt to connect to a node. Default: 1 s. Calls never wait for a
            /// connection.
            "" connect_timeout: Duration = Duration::from_secs(1), check timeout_of_nodes;

            /// Sets for how long callers of this process may hand a lock over to each other. Default: 5 ms, and longer
            /// if the nodes are far away. After that time, the lock is released for other processes. With zero, each holder
            /// releases the lock on the nodes.
            "waiting" handover_time: Duration = Settings::DEFAULT_HANDOVER_TIME;

            /// Sets how many callers of this process may wait for one lock. Default: 10 000. Further callers are
            /// refused at once, as contended.
            "waiting" max_waiters_per_lock: u32 = Settings::DEFAULT_MAX_WAITERS_PER_LOCK;

            /// Sets how many callers of this process may wait for all locks together. Default: 100 000. Further callers
            /// are refused at once, as contended.
            "waiting" max_waiters: u32 = Settings::DEFAULT_MAX_WAITERS;

            /// Sets the time that bodies get at shutdown before they are cancelled. Default: 10 s.
            "shutdown" shutdown_grace: Duration = Duration::from_secs(10), check time_of_shutdown;

            /// Sets the longest time of a shutdown, including the grace period. Default: 15 s.
            "shutdown" shutdown_deadline: Duration = Duration::from_secs(15), check time_of_shutdown;

            /// Sets whether a signal that ends the program first releases the held locks. Default: `false`. At SIGTERM
            /// or SIGINT the registry shuts down, as by [`Redlock::shutdown`](crate::Redlock::shutdown), and then the
            /// signal ends the process. A second signal ends the process at once. The program itself need not handle
            /// signals.
            ///
            /// A server should await [`shutdown_signal`](crate::shutdown_signal) instead, so that it answers its last
            /// requests. The setting then has no effect. Leave the setting off if the program handles these signals by
            /// other means, such as `tokio::signal` or the handlers of actix-web, because it would still end the
            /// process.
            "shutdown" release_on_exit: bool = false;

            /// Sets the HTTP status of a refused caller. Default: 423. The statuses 409 and 429 are usual, too.
            "http" contended_status: u16 = DEFAULT_CONTENDED_STATUS, check |status| ensure(
                (400..=599).contains(status),
                "it is not from 400 to 599, the statuses of errors; 423, 409 and 429 are usual",
            );
        }
    };
}

/// Passes the rows of a pool's settings to a macro. A setting is `None` until it is set. The URL has no row, because
/// its setter is `Config::pool`.
macro_rules! for_each_pool_setting {
    ($make:ident!()) => {
        $make! {
            /// Sets the file with the password of this pool's user. Each connection reads the file again, so the
            /// password may rotate.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new()
            ///     .pool("a", "redis://locker@10.0.0.1:6379")
            ///     .password_file("a", "/run/secrets/redis");
            /// ```
            password_file: PathBuf, from impl Into<PathBuf>;

            /// Sets the treatment of an unfit server of this pool, such as a replica, or a server that evicts keys. By
            /// default, `init` refuses the pool.
            ///
            /// ```
            /// use redlock_runtime::config::Vetting;
            /// let config = redlock_runtime::Config::new().pool("a", "redis://10.0.0.1:6379").vetting("a", Vetting::Warn);
            /// ```
            vetting: Vetting;

            /// Sets whether this pool's server keeps everything across a restart, so that it may vote at once. Such a
            /// server has `appendonly yes`, `appendfsync always` and `no-appendfsync-on-rewrite no`, and its place is never
            /// taken by a replica.
            trust_aof: bool;

            /// Sets how many replicas of this pool's server must acknowledge a lock before it counts. None by default. A
            /// replica that takes the server's place then has the lock. While fewer acknowledge, the pool has no vote.
            replicas: u32;

            /// Sets the PEM file with the CAs that may issue the certificate of this pool's server, instead of the
            /// system's CAs. All TLS settings are for `rediss://` URLs.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new()
            ///     .pool("a", "rediss://10.0.0.1:6380")
            ///     .tls_ca("a", "/etc/shop/redis-ca.pem");
            /// ```
            tls_ca: PathBuf, from impl Into<PathBuf>;

            /// Sets the PEM file with the certificate that the client shows to this pool's server.
            ///
            /// ```
            /// let config = redlock_runtime::Config::new()
            ///     .pool("a", "rediss://10.0.0.1:6380")
            ///     .tls_cert("a", "/etc/shop/client.pem")
            ///     .tls_key("a", "/etc/shop/client.key");
            /// ```
            tls_cert: PathBuf, from impl Into<PathBuf>;

            /// Sets the PEM file with the private key of [`tls_cert`](Self::tls_cert).
            tls_key: PathBuf, from impl Into<PathBuf>;
        }
    };
}

pub(super) use {for_each_pool_setting, for_each_setting};

/// The longest timeout. Sums of a few such timeouts never overflow.
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
