//! Leases whose type guarantees a fencing token, so that no code has to handle a missing token.

use std::ops::Deref;

use super::{FencingToken, Lease, LeaseHandle};

/// A lease with its fencing token. `Fenced<Lease>` holds the lock, and `Fenced<LeaseHandle>` only observes it.
///
/// The attribute's `guard` is a `Fenced<Lease>` if the attribute has the literal
/// `fencing = true`. [`LockBuilder::fencing`](crate::LockBuilder::fencing) acquires one, too. If fencing is decided at
/// run time, [`LeaseHandle::fenced`] returns one if there is a token.
///
/// A fenced lease dereferences to the lease, so a function that takes a `&LeaseHandle` accepts it.
///
/// ```
/// use redlock_runtime::{Fenced, LeaseHandle, LockError, redlock};
///
/// # struct Store;
/// # impl Store { async fn write_if_newest(&self, id: u64, token: i64) {} }
/// #[redlock(resource = "account:{id}", fencing = true, guard = lease)]
/// async fn withdraw(id: u64, store: &Store) -> Result<(), LockError> {
///     store.write_if_newest(id, lease.fencing_token().as_i64()).await;
///     book(&lease.handle());
///     Ok(())
/// }
///
/// fn book(lease: &Fenced<LeaseHandle>) {
///     println!("{} as holder {}", lease.resource(), lease.fencing_token());
/// }
/// ```
#[derive(Clone, Debug)]
#[must_use = "dropping a `Fenced<Lease>` releases the lock at once, and a `Fenced<LeaseHandle>` only observes it"]
pub struct Fenced<L> {
    pub(crate) lease: L,
    token: FencingToken,
}

impl<L> Fenced<L> {
    /// Returns the lock's fencing token. Send it to the store with every write. A store that refuses tokens below the
    /// highest it has seen is safe from a holder that was paused past the end of its lease. An extension does not
    /// change the token.
    pub fn fencing_token(&self) -> FencingToken {
        self.token
    }
}

impl<L> Deref for Fenced<L> {
    type Target = L;

    fn deref(&self) -> &L {
        &self.lease
    }
}

impl Fenced<Lease> {
    /// Returns the lease with its fencing token. Returns the bare lease if it has none.
    #[allow(clippy::result_large_err, reason = "a lease comes out either way")]
    pub(crate) fn of(lease: Lease) -> Result<Self, Lease> {
        match lease.core.fencing_token() {
            Some(token) => Ok(Self { lease, token }),
            None => Err(lease),
        }
    }

    /// Wraps the lease of a lock that asked for a fencing token.
    pub(crate) fn new(lease: Lease) -> Self {
        Self::of(lease).expect("a lock that asks for a fencing token is won with one")
    }

    /// Returns a handle to keep or pass on.
    pub fn handle(&self) -> Fenced<LeaseHandle> {
        let (lease, token) = (self.lease.handle(), self.token);
        Fenced { lease, token }
    }

    /// Releases the lock as [`Lease::release`] does.
    ///
    /// # Cancellation
    /// Dropping the future has the same effect as for [`Lease::release`].
    pub async fn release(self) {
        self.lease.release().await;
    }
}

/// Lets the compiler explain, when it refuses a call on [`LeaseHandle`], how a lease gets its token by type.
#[diagnostic::on_unimplemented(
    message = "this lease may have no fencing token",
    label = "its type does not say that it is fenced",
    note = "write the literal `fencing = true` in the attribute, or `.fencing()` in the object style",
    note = "where fencing is decided at run time, `fenced()` returns the lease with its token, or `None`"
)]
pub trait HasFencingToken {}

impl<L> HasFencingToken for Fenced<L> {}

impl LeaseHandle {
    /// Returns the lease with its fencing token, if it has one. Use it if the type of the lease does not guarantee a
    /// token: for [`current_lease`](crate::current_lease), for an expression as `fencing`, or
    /// with [`LockOptions`](crate::parameters::LockOptions).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let body = async {
    ///     let lease = redlock_runtime::current_lease().expect("a lease is held above");
    ///     match lease.fenced() {
    ///         Some(lease) => println!("UPDATE … WHERE fence <= {}", lease.fencing_token()),
    ///         None => println!("UPDATE …"),
    ///     }
    /// };
    /// redlock_runtime::lock("order:42").run(body).await?;
    /// # Ok(()) }
    /// ```
    pub fn fenced(&self) -> Option<Fenced<Self>> {
        let (token, lease) = (self.core.fencing_token()?, self.clone());
        Some(Fenced { lease, token })
    }

    /// Turns a call on a lease whose type has no token into a compile error. The lifetime moves the error from here to
    /// the call.
    #[doc(hidden)]
    pub fn fencing_token(&self) -> FencingToken
    where
        for<'call> Self: HasFencingToken,
    {
        unreachable!("`LeaseHandle` does not implement the trait")
    }
}
