//! A held lease, as reports show it.

use std::time::{Duration, SystemTime};

use redlock_core::Resource;
use redlock_core::lease::FencingToken;

use crate::site::Site;

/// A lease that is held right now.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// # let _entered = redlock.registry().enter();
/// let _lease = redlock_runtime::lock("order:42").acquire().await?;
/// for held in redlock.registry().held() {
///     println!("{} on {} for {:?}", held.resource, held.pools.join(", "), held.held_for);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeldLease {
    /// What is locked.
    pub resource: Resource,
    /// The annotated function, or `None` for the object style without a name.
    pub site: Option<&'static Site>,
    /// Since when it has been held, by this host's wall clock.
    pub since: SystemTime,
    /// How long it has been held.
    pub held_for: Duration,
    /// For how much longer it is valid.
    pub validity: Duration,
    /// The ttl that it was asked for with.
    pub ttl: Duration,
    /// How often it was extended, renewals included.
    pub extensions: u32,
    /// The fencing token of the lock, if one was asked for.
    pub fencing_token: Option<FencingToken>,
    /// A few digits of its owner token. Those that share a lock have the same.
    pub token_id: String,
    /// The pools that it is locked on.
    pub pools: Vec<String>,
    /// How many share the lock: one, and those below that joined it. Each is listed by itself.
    pub sharers: usize,
    /// Whether it is held for a body, and not as a bare lease.
    pub has_body: bool,
    /// How many callers of this process stand in line for the lock.
    pub waiting: usize,
}
