//! The health of the nodes, for [`Registry::health`](crate::registry::Registry::health).

pub use redlock_core::node::{ClockOffset, LastError, NodeHealth, NodeStatus};

/// The health of a pool.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
/// for pool in redlock.registry().health() {
///     println!("{} {}: {:?}", pool.pool, pool.status, pool.node_health);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PoolHealth {
    /// The pool's name.
    pub pool: String,
    /// The status of the pool: it votes, or it abstains for a reason.
    pub status: NodeStatus,
    /// True if the pool is one of the default pools.
    pub is_default: bool,
    /// The number of times that the node may have forgotten locks, as seen by this process. The causes are restarts,
    /// flushes and steps of the clock.
    pub epoch: u32,
    /// The number of leases that use this pool but lack a valid grant from it. The node restarted, or did not answer.
    /// The restart of another node may end these leases.
    pub leases_without_grant: usize,
    /// The connection, latency, errors and clock of the pool's node.
    pub node_health: NodeHealth,
}

impl PoolHealth {
    /// True if the pool votes.
    pub fn is_voting(&self) -> bool {
        matches!(self.status, NodeStatus::Voting)
    }
}

/// The number of default pools that vote, and the number that a lock needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VotingPools {
    /// The number of default pools that vote.
    pub voting: usize,
    /// The number of votes that are a majority.
    pub needed: usize,
    /// The number of default pools.
    pub configured: usize,
}

impl VotingPools {
    /// True if enough of the default pools vote for calls to get their locks.
    pub fn suffice(self) -> bool {
        self.configured > 0 && self.voting >= self.needed
    }
}
