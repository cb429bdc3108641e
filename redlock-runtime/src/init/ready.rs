//! Waiting until a majority of the pools votes.

use std::time::Duration;

use redlock_core::error::Brief;
use redlock_core::node::NodeStatus;
use redlock_core::process::{FORKED, is_forked};

use super::Redlock;
use crate::error::{AbstainingPool, NotReady, NotReadyKind, TooFewVotes};
use crate::registry::Registry;

/// The pause between two looks at the nodes. A look asks no server.
const PAUSE: Duration = Duration::from_millis(10);

impl Redlock {
    /// Waits until calls can be expected to get their locks, as
    /// [`is_ready`](crate::registry::Registry::is_ready) says, for at most `timeout`.
    ///
    /// [`init`](crate::init()) returns although nodes are down or wait in quarantine. A job that would
    /// fail without locks, or a service that has nothing else to do, waits here first. A service with
    /// other work starts it without waiting.
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
    /// [`NotReady`] with the reason of each default pool that does not vote, after `timeout`; at once
    /// if a shutdown has begun.
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
                return Err(NotReady::new(
                    NotReadyKind::ShuttingDown,
                    "the shutdown has begun",
                ));
            }
            if registry.votes().suffice() {
                return Ok(());
            }
            let now = clock.now();
            if now >= deadline {
                let missing = too_few_votes(registry);
                let text = format!("{missing}; gave up after {}", Brief(timeout));
                return Err(NotReady::new(NotReadyKind::TooFewVotes(missing), text));
            }
            clock
                .sleep_until(now.saturating_add(PAUSE).min(deadline))
                .await;
        }
    }
}

/// Returns the number of default pools that vote, and the reason of each other one.
pub(super) fn too_few_votes(registry: &Registry) -> TooFewVotes {
    let nodes = registry.shared.pools.default_set.iter();
    let abstaining = nodes.filter_map(|node| match node.status() {
        NodeStatus::Abstaining(reason) => Some(AbstainingPool {
            pool: node.name().to_owned(),
            reason,
        }),
        _ => None,
    });
    TooFewVotes {
        votes: registry.votes(),
        abstaining: abstaining.collect(),
    }
}
