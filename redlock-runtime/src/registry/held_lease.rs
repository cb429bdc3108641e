//! The public report of a held lease.

use std::time::{Duration, SystemTime};

use redlock_core::Resource;
use redlock_core::lease::FencingToken;
use redlock_core::request::Note;

use crate::parameters::Kind;
use crate::site::Site;

/// A lease that is held right now.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
/// let _lease = redlock_runtime::lock("order:42").acquire().await?;
/// for held in redlock.registry().held() {
///     println!("{} on {} for {:?}", held.resource, held.pools.join(", "), held.held_for);
/// }
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeldLease {
    /// The resource that is locked.
    pub resource: Resource,
    /// The annotated function, or the place in the source that called [`lock`](crate::lock()).
    pub site: &'static Site,
    /// When the holder got the lease, by this host's wall clock.
    pub since: SystemTime,
    /// The time for which the lease has been held.
    pub held_for: Duration,
    /// The time for which the lease remains valid.
    pub validity: Duration,
    /// The ttl of the request.
    pub ttl: Duration,
    /// The number of extensions, renewals included.
    pub extensions: u32,
    /// The fencing token of the lock, if one was asked for.
    pub fencing_token: Option<FencingToken>,
    /// The number of the lease's permit. `None` for a lock without `permits`.
    pub permit: Option<u16>,
    /// The kind of the lock.
    pub kind: Kind,
    /// A few digits of the owner token. Leases that share a lock have the same digits.
    pub token_id: String,
    /// The holder's note, if the lock has one. A call that shares the lock shows the note of the first holder.
    pub note: Option<Note>,
    /// The pools of the lock.
    pub pools: Vec<String>,
    /// The number of leases that share the lock: the outer lease and each lease that joined it. The report lists each
    /// of them separately.
    pub sharers: usize,
    /// True if the lease is held for a body, false for a bare lease.
    pub has_body: bool,
    /// The number of callers in this process that wait in line for the lock.
    pub waiting: usize,
}

/// Lists the first few locks by resource and function, for a log line. A program may hold thousands; the page `/held`
/// of `redlock-inspect` shows them all.
pub(super) fn listed(held: &[HeldLease]) -> String {
    const MOST_LISTED: usize = 8;
    let named = held.iter().take(MOST_LISTED);
    let mut named: Vec<_> = named
        .map(|it| format!("`{}` by {}", it.resource, it.site))
        .collect();
    if held.len() > MOST_LISTED {
        named.push(format!("and {} more", held.len() - MOST_LISTED));
    }
    named.join(", ")
}
