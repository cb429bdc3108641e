//! Leases that have a fencing token by their type: [`FencedLease`] holds the lock, and a [`FencedHandle`] only observes
//! it. Code that has one of them needs no answer to a missing token.

use std::ops::Deref;

use redlock_core::debug::debug_in_part;

use super::chain::current_lease;
use super::{FencingToken, Lease, LeaseHandle};

/// A held lock with a fencing token: the [`Lease`] of a lock that asked for one by its type.
///
/// The attribute's `guard` is one if the attribute has the literal `fencing = true`, and
/// [`Lock::fencing`](crate::Lock::fencing) acquires one. Where fencing is decided at run time,
/// [`LeaseHandle::fenced`] tells.
///
/// Dereferences to its [`FencedHandle`], and so to a [`LeaseHandle`]. A drop sends the release, as that of a [`Lease`]
/// does.
///
/// ```
/// use redlock_runtime::{LockError, redlock};
///
/// # struct Store;
/// # impl Store { async fn write_if_newest(&self, id: u64, token: i64) {} }
/// #[redlock(resource = "account:{id}", fencing = true, guard = lease)]
/// async fn withdraw(id: u64, store: &Store) -> Result<(), LockError> {
///     store.write_if_newest(id, lease.fencing_token().as_i64()).await;
///     Ok(())
/// }
/// ```
#[must_use = "a lease that is dropped is released at once"]
pub struct FencedLease {
    pub(crate) lease: Lease,
    handle: FencedHandle,
}

impl FencedLease {
    /// Wraps the lease of a lock that asked for a fencing token.
    pub(crate) fn new(lease: Lease) -> Self {
        let handle = lease.fenced();
        let handle = handle.expect("no lock that asks for a fencing token is won without one");
        Self { lease, handle }
    }

    /// Returns a handle to keep or pass on.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").fencing().acquire().await?;
    /// let handle = lease.handle();
    /// lease.release().await;
    /// println!("{} of a lease that is over", handle.fencing_token());
    /// # Ok(()) }
    /// ```
    pub fn handle(&self) -> FencedHandle {
        self.handle.clone()
    }

    /// Releases the lock as [`Lease::release`] does.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").fencing().acquire().await?;
    /// lease.release().await;
    /// assert_eq!(redlock.registry().held_count(), 0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Cancellation
    /// As [`Lease::release`].
    pub async fn release(self) {
        self.lease.release().await;
    }
}

impl Deref for FencedLease {
    type Target = FencedHandle;

    fn deref(&self) -> &FencedHandle {
        &self.handle
    }
}

/// Observes a lease that has a fencing token, and extends it: a [`LeaseHandle`], to which it dereferences, with the
/// [token](Self::fencing_token). A clone may be kept.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
/// # let redlock = redlock_runtime::Redlock::start(config).await?;
/// # let _entered = redlock.registry().enter();
/// use redlock_runtime::FencedHandle;
///
/// fn claim(lease: &FencedHandle) -> String {
///     format!("{} WHERE fence <= {}", lease.resource(), lease.fencing_token())
/// }
///
/// let lease = redlock_runtime::lock("order:42").fencing().acquire().await?;
/// println!("{}", claim(&lease));
/// # lease.release().await;
/// # Ok(()) }
/// ```
#[derive(Clone, Debug)]
pub struct FencedHandle {
    lease: LeaseHandle,
    token: FencingToken,
}

impl FencedHandle {
    /// Returns the lease of the body that is polled, whose lock asked for a fencing token.
    pub(crate) fn current() -> Self {
        let lease = current_lease().and_then(|lease| lease.fenced());
        lease.expect("a body runs under its lock only")
    }

    /// Returns the lock's fencing token. Send it to the store with every write. A store that refuses tokens below the
    /// highest it has seen is safe from a holder that was paused past the end of its lease. An extension does not
    /// change the token.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").fencing().acquire().await?;
    /// println!("UPDATE … WHERE fence <= {}", lease.fencing_token().as_i64());
    /// # lease.release().await;
    /// # Ok(()) }
    /// ```
    pub fn fencing_token(&self) -> FencingToken {
        self.token
    }
}

impl Deref for FencedHandle {
    type Target = LeaseHandle;

    fn deref(&self) -> &LeaseHandle {
        &self.lease
    }
}

debug_in_part!(FencedLease, it => handle: it.handle);

/// Explains, in the error of a call that [`LeaseHandle`] refuses, what gives a lease its token by type.
#[diagnostic::on_unimplemented(
    message = "this lease may have no fencing token",
    label = "its type does not say that it is fenced",
    note = "write the literal `fencing = true` in the attribute, or `.fencing()` in the object style: their leases are \
            fenced by type",
    note = "where fencing is decided at run time, `fenced()` returns the lease with its token, or `None`"
)]
pub trait HasFencingToken {
    /// Returns the fencing token of a lease.
    fn token_of(lease: &Self) -> FencingToken;
}

// Not recommended: rustc would list this type, which the notes above explain.
#[diagnostic::do_not_recommend]
impl HasFencingToken for FencedHandle {
    fn token_of(lease: &Self) -> FencingToken {
        lease.token
    }
}

impl LeaseHandle {
    /// Returns the lease with its fencing token, if it has one. It is for code that does not say by a type that its
    /// lock is fenced: below [`current()`](crate::current()), with an expression as `fencing`, or with
    /// [`LockOptions`](crate::parameters::LockOptions).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let config = redlock_runtime::Config::new().pool("a", "memory://a");
    /// # let redlock = redlock_runtime::Redlock::start(config).await?;
    /// # let _entered = redlock.registry().enter();
    /// let body = async {
    ///     let lease = redlock_runtime::current().expect("a lease is held above");
    ///     match lease.fenced() {
    ///         Some(lease) => println!("UPDATE … WHERE fence <= {}", lease.fencing_token()),
    ///         None => println!("UPDATE …"),
    ///     }
    /// };
    /// redlock_runtime::lock("order:42").run(body).await?;
    /// # Ok(()) }
    /// ```
    pub fn fenced(&self) -> Option<FencedHandle> {
        let token = self.core.fencing_token()?;
        let lease = self.clone();
        Some(FencedHandle { lease, token })
    }

    /// Refuses, at compile time, a call on a lease whose type does not say that it is fenced. The lifetime defers the
    /// refusal from here to the call.
    #[doc(hidden)]
    pub fn fencing_token(&self) -> FencingToken
    where
        for<'call> Self: HasFencingToken,
    {
        HasFencingToken::token_of(self)
    }
}
