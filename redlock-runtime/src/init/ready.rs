//! The wait until a majority of the pools votes.

use std::fmt::Write as _;
use std::time::Duration;

use redlock_core::error::Brief;
use redlock_core::internal::{FORKED, is_forked};
use redlock_core::node::NodeStatus;

use super::Redlock;
use crate::error::{NotReady, NotReadyKind};
use crate::registry::Registry;

/// The pause between two looks at the nodes' status. A look sends nothing.
const PAUSE: Duration = Duration::from_millis(10);

impl Redlock {
    /// Waits until locks work, as [`is_ready`](crate::registry::Registry::is_ready) says, for at most `timeout`.
    ///
    /// [`init`](crate::init()) returns although nodes are down or wait in quarantine. Wait here in a job that fails
    /// without locks, or in a service that has nothing else to do. A service with other work starts it at once.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use redlock_runtime::Config;
    /// use std::time::Duration;
    ///
    /// let redlock = redlock_runtime::init(Config::new().pool("a", "memory://a")).await?;
    /// redlock.ready(Duration::from_secs(30)).await?;
    /// # redlock.shutdown().await;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`NotReady`] with the reason of each default pool that abstains, after `timeout`. If a shutdown has begun, the
    /// error comes at once.
    ///
    /// # Cancellation
    /// Dropping the future has no effect.
    pub async fn ready(&self, timeout: Duration) -> Result<(), NotReady> {
        if is_forked() {
            return Err(NotReady::new(NotReadyKind::Forked, FORKED));
        }
        let registry = &self.registry;
        let clock = &registry.shared.environment.clock;
        let deadline = clock.now().saturating_add(timeout);
        loop {
            if registry.is_closing() {
                let why = "the shutdown has begun";
                return Err(NotReady::new(NotReadyKind::ShuttingDown, why));
            }
            if registry.votes().suffice() {
                return Ok(());
            }
            let now = clock.now();
            if now >= deadline {
                let (votes, timeout) = (votes_of(registry), Brief(timeout));
                let mut pools = registry.health();
                pools.retain(|pool| pool.is_default && !pool.is_voting());
                let kind = NotReadyKind::TooFewVotes(pools);
                return Err(NotReady::new(
                    kind,
                    format!("{votes}; gave up after {timeout}"),
                ));
            }
            clock
                .sleep_until(now.saturating_add(PAUSE).min(deadline))
                .await;
        }
    }
}

/// Returns a text with the number of default pools that vote, and the reasons of the others.
pub(super) fn votes_of(registry: &Registry) -> String {
    let votes = registry.votes();
    let mut text = format!(
        "{} of {} default pools vote, {} needed",
        votes.voting, votes.configured, votes.needed,
    );
    for node in registry.shared.pools.default_set.iter() {
        if let NodeStatus::Abstaining(reason) = node.status() {
            let _ = write!(text, "; {}: {reason}", node.name());
        }
    }
    text
}
