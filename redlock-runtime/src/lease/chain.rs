//! The call chain: the leases that are held above the running code.
//!
//! The chain follows the polls of a body, not its thread or its task. Code that the body polls is below the body. A
//! spawned task is not.

use std::cell::RefCell;
use std::iter::successors;
use std::sync::Arc;

use redlock_core::Resource;

use super::LeaseHandle;

thread_local! {
    static CURRENT: RefCell<Option<Arc<ChainLink>>> = const { RefCell::new(None) };
}

/// A held lease in a chain, with a link to the lease above it.
pub(crate) struct ChainLink {
    pub(crate) lease: LeaseHandle,
    pub(crate) above: Option<Arc<ChainLink>>,
}

/// Drops the links one by one, because a recursive drop would take stack for each link.
///
/// The stack of the polls limits how deep calls nest. But a chain may be longer than that, if futures outlive the
/// futures below which they began.
impl Drop for ChainLink {
    fn drop(&mut self) {
        let mut above = self.above.take();
        while let Some(link) = above {
            above = Arc::into_inner(link).and_then(|mut link| link.above.take());
        }
    }
}

/// Returns the link of the innermost body around the running code.
pub(crate) fn innermost() -> Option<Arc<ChainLink>> {
    // A thread that is ending has no chain.
    CURRENT.try_with(|it| it.borrow().clone()).ok().flatten()
}

/// Walks from a link outwards to the outermost one.
pub(crate) fn outwards(
    innermost: Option<&Arc<ChainLink>>,
) -> impl Iterator<Item = &Arc<ChainLink>> {
    successors(innermost, |link| link.above.as_ref())
}

/// Returns the lease of the innermost body around the calling code. Returns `None` outside of all bodies.
///
/// The handle may be kept. After the end of the lease, the handle has no effect.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
/// let body = async {
///     let lease = redlock_runtime::current_lease().expect("a lease is held above");
///     assert_eq!(lease.resource().to_string(), "order:42");
/// };
/// redlock_runtime::lock("order:42").run(body).await?;
/// assert!(redlock_runtime::current_lease().is_none());
/// # Ok(()) }
/// ```
pub fn current_lease() -> Option<LeaseHandle> {
    innermost().map(|link| link.lease.clone())
}

/// True if the calling code is below a body that holds all of `resource` with a valid lease. `resource` is a value as
/// in the attribute, without the key prefix.
pub fn is_held(resource: impl Into<Resource>) -> bool {
    holds(&resource.into())
}

fn holds(resource: &Resource) -> bool {
    let held = held();
    let mut names = resource.names();
    names.len() > 0
        && names.all(|name| {
            let mut leases = held.iter();
            leases.any(|lease| lease.resource().names().any(|other| other == name))
        })
}

/// Returns the valid leases above the calling code, innermost first.
fn held() -> Vec<LeaseHandle> {
    let innermost = innermost();
    let leases = outwards(innermost.as_ref()).map(|link| &link.lease);
    leases.filter(|lease| !lease.is_over()).cloned().collect()
}

/// Checks that a caller holds the lock that this code relies on, and panics otherwise.
///
/// # Example: a function that must not be called without the lock
/// ```
/// # use redlock_runtime::{Config, LockError, Redlock, redlock};
/// async fn write_total(account: u64) {
///     redlock_runtime::assert_held(format!("account:{account}"));
///     // …
/// }
///
/// #[redlock(resource = "account:{id}")]
/// async fn deposit(id: u64) -> Result<(), LockError> {
///     write_total(id).await;
///     Ok(())
/// }
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
/// # redlock.registry().clone().scope(deposit(7)).await?;
/// # Ok(()) }
/// ```
///
/// # Panics
/// Panics if [`is_held`] returns false: no body above the calling code holds all of `resource`, or its lease is over.
#[track_caller]
pub fn assert_held(resource: impl Into<Resource>) {
    let resource = resource.into();
    if !holds(&resource) {
        let held: Vec<_> = held()
            .iter()
            .map(|it| format!("`{}`", it.resource()))
            .collect();
        match &*held.join(", ") {
            "" => panic!("`{resource}` is not locked here; no lock is held above this call"),
            held => panic!("`{resource}` is not locked here; held above this call: {held}"),
        }
    }
}

/// The call chain of one body: its lease, and the leases above it.
pub(crate) struct CallChain {
    /// The body's own chain. During a poll of the body, the chain that was current before.
    link: Option<Arc<ChainLink>>,
}

impl CallChain {
    /// Puts `lease` below the leases that are held above the running code.
    pub(crate) fn new(lease: LeaseHandle) -> Self {
        let above = innermost();
        Self {
            link: Some(Arc::new(ChainLink { lease, above })),
        }
    }

    /// Makes this chain the current one until the guard is dropped.
    pub(crate) fn enter(&mut self) -> ChainGuard<'_> {
        exchange(&mut self.link);
        ChainGuard(&mut self.link)
    }
}

/// Restores the previous chain on drop, even if the body panics.
#[must_use]
pub(crate) struct ChainGuard<'a>(&'a mut Option<Arc<ChainLink>>);

impl Drop for ChainGuard<'_> {
    fn drop(&mut self) {
        exchange(self.0);
    }
}

fn exchange(link: &mut Option<Arc<ChainLink>>) {
    // A thread that is ending has no chain.
    let _ = CURRENT.try_with(|current| std::mem::swap(&mut *current.borrow_mut(), link));
}
