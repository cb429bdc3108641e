//! The handle with which a program starts and ends its registry.

use std::time::Duration;

use redlock_core::internal::is_forked;

use crate::config::{CheckedConfig, Config};
use crate::error::InitError;
use crate::registry::{Registry, ShutdownReport, shutdown, signal};

/// The handle of a running registry. Keep it in `main`, because its drop shuts the registry down.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # use redlock_runtime::Config;
/// let redlock = redlock_runtime::init(Config::new().pool("a", "memory://a")).await?;
/// assert!(redlock.registry().is_ready());
/// redlock.shutdown().await;
/// # Ok(()) }
/// ```
#[must_use = "dropping it shuts down, and `let _ =` drops it at once; bind it to a name until the end of \
              `main`"]
#[derive(Debug)]
pub struct Redlock {
    pub(crate) registry: Registry,
}

impl Redlock {
    /// Starts a registry that is not the global one. Calls find it through [`Registry::scope`] or [`Registry::enter`].
    /// The start checks only the annotated functions with an [override](Config::site). A function that names an unknown
    /// pool reports that when it is called.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use redlock_runtime::{Config, Redlock};
    /// let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
    /// let locked = redlock_runtime::lock("order:42").run(async {});
    /// redlock.registry().clone().scope(locked).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`InitError`], as [`init`](crate::init()), except for problems of functions without an override.
    ///
    /// # Cancellation
    /// Dropping the future starts nothing.
    pub async fn start(config: Config) -> Result<Self, InitError> {
        let checked = CheckedConfig::new(config)?;
        let registry = Registry::start(&checked).await?;
        Ok(Self { registry })
    }

    /// Returns the registry, for figures and for scopes of calls.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use redlock_runtime::{Config, Redlock};
    /// let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
    /// assert_eq!(redlock.registry().held_count(), 0);
    /// # Ok(()) }
    /// ```
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Shuts locking down in order. Refuses new acquisitions, and lets bodies finish for the configured grace period.
    /// Then cancels the bodies that still run, releases all held locks, and returns a report.
    ///
    /// The shutdown never releases a lock under a body that still runs. The key of a body that never yields stays until
    /// the ttl, and the report names that lock.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use redlock_runtime::{Config, Redlock};
    /// # let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
    /// let report = redlock.shutdown().await;
    /// assert!(report.stuck.is_empty(), "{report}");
    /// # Ok(()) }
    /// ```
    ///
    /// # Cancellation
    /// Dropping the future only gives up the report. The shutdown continues in the background.
    pub async fn shutdown(self) -> ShutdownReport {
        if is_forked() {
            return ShutdownReport::default();
        }
        shutdown::begin(&self.registry);
        self.registry.shared.shutdown.report().await
    }

    /// Runs a server, a worker or an [election](crate::election()) to its end, and then [shuts down](Self::shutdown).
    /// SIGTERM and SIGINT begin the shutdown meanwhile, as if a task awaited [`shutdown_signal`](crate::shutdown_signal).
    ///
    /// Once a shutdown has begun, the work has until the configured deadline. Without a deadline, one open connection
    /// or one endless handler could stop the process from ending, because servers drain gracefully. Work that does not
    /// learn of the signal uses up all this time: let it await `shutdown_signal` too.
    ///
    /// Returns the result of the work, or `None` if the deadline came first. The work is then dropped.
    ///
    /// A task that never yields ([`ShutdownReport::stuck`]) also blocks the end of a multi-threaded tokio runtime, and
    /// of a `main` under `#[tokio::main]`. `std::process::exit` ends the process anyway.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use redlock_runtime::{Config, Redlock};
    /// # let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
    /// let server = async { "drained" }; // With axum: `axum::serve(…).with_graceful_shutdown(…)`.
    /// let (ended, report) = redlock.shutdown_after(server).await;
    /// assert_eq!(ended, Some("drained"));
    /// println!("{report}");
    /// # Ok(()) }
    /// ```
    ///
    /// # Cancellation
    /// Dropping the future drops the work and begins the shutdown, which continues in the background.
    pub async fn shutdown_after<S: IntoFuture>(
        self,
        work: S,
    ) -> (Option<S::Output>, ShutdownReport) {
        let _waiter = signal::add_waiter(&self.registry);
        let output = shutdown::until_deadline(&self.registry, work.into_future()).await;
        (output, self.shutdown().await)
    }
}

/// Shuts down, as [`shutdown`](Redlock::shutdown) does. Outside of an async runtime the drop waits for the end of the
/// shutdown. Inside of one, the shutdown continues in the background. Drop a current-thread runtime first, because
/// nothing polls its bodies while this thread waits, so they would be stuck until the deadline.
///
/// If a signal is ending the process by [`release_on_exit`](crate::Config::release_on_exit), the drop always waits for
/// the end. `main` may return because a body was cancelled, while releases are still being sent.
impl Drop for Redlock {
    fn drop(&mut self) {
        if is_forked() {
            // The nodes belong to the parent process. Leak a clone, so that no drop takes a mutex here.
            return std::mem::forget(self.registry.clone());
        }
        shutdown::begin_at_drop(&self.registry);
        let is_ending = signal::is_process_ending();
        if is_ending || tokio::runtime::Handle::try_current().is_err() {
            shutdown::block_on_report(&self.registry);
        }
        if is_ending {
            // The library's own thread is about to end the process. The bound is for the case that it is late.
            std::thread::park_timeout(Duration::from_secs(1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::NotReadyKind;
    use crate::registry::signal::shutdown_signal;

    #[test]
    fn the_signal_has_come_where_the_shutdown_has_begun() {
        let config = Config::new().pool("a", "memory://a");
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let redlock = Redlock::start(config).await.unwrap();
            let registry = redlock.registry().clone();
            shutdown::begin(&registry);
            registry.scope(shutdown_signal()).await;
            redlock.shutdown().await;
        });
    }

    #[tokio::test]
    async fn no_program_waits_for_votes_once_a_shutdown_has_begun() {
        let config = Config::new().pool("a", "memory://a");
        let redlock = Redlock::start(config).await.unwrap();
        shutdown::begin(redlock.registry());
        let refused = redlock.ready(Duration::MAX).await.unwrap_err();
        let is_shutting_down = matches!(refused.kind(), NotReadyKind::ShuttingDown);
        assert!(is_shutting_down, "{refused}");
    }
}
