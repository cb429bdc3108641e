//! The report of a shutdown, with its text and its log line.

use std::fmt;

use redlock_core::internal::log_caught;
use redlock_core::targets;

use super::held_lease::HeldLease;

/// The result of a shutdown: which leases ended in time, and which keys may stay on the nodes.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
/// let report = redlock.shutdown().await;
/// assert_eq!(report.to_string(), "0 finished, 0 cancelled and released, 0 stuck");
/// # Ok(()) }
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Leases that were held when the shutdown began and that ended on their own within the grace period.
    pub finished: Vec<HeldLease>,
    /// Bodies that were cancelled at the end of the grace period. Their locks are released.
    pub cancelled: Vec<HeldLease>,
    /// Leases without a body that were released at the end of the grace period.
    pub released: Vec<HeldLease>,
    /// Bodies that still ran at the deadline, because they did not yield. Their keys stay until the ttl: a lock is
    /// never released under a running body.
    pub stuck: Vec<HeldLease>,
    /// Acquisitions that were still under way at the deadline, because nothing polled their futures. Any keys of theirs
    /// stay on the nodes until the ttl.
    pub under_way: usize,
    /// Pools whose nodes did not confirm all calls in time. Such a node was unreachable, or answered a release with an
    /// error. The keys on the node expire at the ttl.
    pub unconfirmed: Vec<String>,
}

/// Writes `2 finished, 1 cancelled and released, 0 stuck`. Further counts follow if they are above zero: leases that
/// were released without a body, stuck keys, unfinished acquisitions and unconfirmed pools.
impl fmt::Display for ShutdownReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} finished, {} cancelled and released, {} stuck",
            self.finished.len(),
            self.cancelled.len(),
            self.stuck.len(),
        )?;
        if !self.released.is_empty() {
            write!(f, "; {} released without a body", self.released.len())?;
        }
        for lease in &self.stuck {
            write!(f, "; `{}` keeps its key until the ttl", lease.resource)?;
        }
        if self.under_way > 0 {
            write!(f, "; {} acquisitions still under way", self.under_way)?;
        }
        if !self.unconfirmed.is_empty() {
            write!(f, "; not confirmed by {}", self.unconfirmed.join(", "))?;
        }
        Ok(())
    }
}

impl ShutdownReport {
    /// Logs the report once, when it is made. So the log has the report even if the program drops it.
    pub(crate) fn log(&self) {
        macro_rules! log_at {
            ($level:ident) => {
                log_caught!(tracing::$level!(target: targets::SHUTDOWN, "redlock has shut down: {self}"))
            };
        }
        // Operators should know that a key may stay on the nodes until its ttl.
        if !self.stuck.is_empty() || self.under_way > 0 {
            log_at!(error);
        } else if !self.unconfirmed.is_empty() {
            log_at!(warn);
        } else {
            log_at!(info);
        }
    }
}
