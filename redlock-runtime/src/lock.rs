//! The object style: locks by function calls.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::panic::Location;

use redlock_core::Resource;
use redlock_core::peek::{ForceReleased, LockStatus};
use redlock_core::targets;
use tracing::warn;

use crate::acquire::LockSpec;
use crate::call::{MappedBody, result_rules, run_call};
use crate::error::{LockError, LockErrorKind};
use crate::lease::{Fenced, Lease, LeaseHandle};
use crate::parameters::prelude::*;
use crate::site::Site;

/// Begins a lock on `resource`, as an alternative to the attribute. Nothing is sent before
/// [`acquire`](LockBuilder::acquire) or [`run`](LockBuilder::run).
///
/// A name is text or bytes. Only the attribute reads `{id}` as a template, so write `format!("order:{id}")` here. An
/// array, a slice or a `Vec` of names locks all of them or none. [`Resource::all`] does the same for an iterator.
///
/// # Example: a critical section
/// ```
/// # use redlock_runtime::{Config, LockError, Redlock};
/// # async fn example() -> Result<(), LockError> {
/// let total = redlock_runtime::lock("cart:7").retry_count(5).run(async { 6 * 7 }).await?;
/// assert_eq!(total, 42);
/// # Ok(())
/// # }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
/// # redlock.registry().clone().scope(example()).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Example: several names
/// ```
/// # use redlock_runtime::{Config, LockError, Redlock};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await?;
/// # let _entered = redlock.registry().enter();
/// let both = redlock_runtime::lock(["account:1", "account:2"]).acquire().await?;
/// let error = redlock_runtime::lock(["account:2", "account:3"]).retry_count(0).acquire().await;
/// assert!(error.unwrap_err().to_string().contains("(name `account:2`)"));
/// # both.release().await;
/// # Ok(()) }
/// ```
#[track_caller]
pub fn lock(resource: impl Into<Resource>) -> LockBuilder {
    let site = Site::at(Location::caller());
    LockBuilder(LockSpec::new(site, resource.into()), PhantomData)
}

/// A lock before its acquisition: see [`lock`]. Parameters that are left out come from the registry's defaults.
///
/// `L` is the lease that `acquire` returns: a [`Lease`], or a [`Fenced`] one after [`fencing`](Self::fencing).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
/// let lock = redlock_runtime::lock("order:42").retry_count(0);
/// let lease = lock.acquire().await?;
/// # lease.release().await;
/// # Ok(()) }
/// ```
#[must_use = "nothing is locked before `acquire` or `run`"]
pub struct LockBuilder<L = Lease>(pub(crate) LockSpec, PhantomData<fn() -> L>);

for_each_parameter!(setters!(LockBuilder<L>, it => it.0.options));

impl<L> LockBuilder<L> {
    /// Names the work under the lock for logs, spans, metrics and the page of `redlock-inspect`. They show this name where
    /// they show the name of an annotated function. Without a name, they show the file and the line of the call of [`lock`].
    ///
    /// The name is a `&'static str`, because it labels metrics. Names that are made at run time would be too many.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").name("refund").acquire().await?;
    /// assert_eq!(lease.site().name(), "refund");
    /// # lease.release().await;
    /// # Ok(()) }
    /// ```
    pub fn name(mut self, name: &'static str) -> Self {
        self.0.site = self.0.site.named(name);
        self
    }

    /// Sets the pools to lock on, instead of the default ones.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").pools(["a"]).acquire().await?;
    /// # lease.release().await;
    /// # Ok(()) }
    /// ```
    pub fn pools<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.0.pools = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Attaches a few words for people who look at the lock: which job this is, and on whose behalf. Refusals of other
    /// callers, [`Registry::held`](crate::registry::Registry::held) and [`peek`](Self::peek) show the note.
    ///
    /// The nodes store the note with the owner token. Everybody who can read the nodes can read it, so keep secrets out of
    /// it. A note has at most 256 bytes. A longer text is cut, because a lock is more important than its note. A call that
    /// shares the lease of an outer holder has that holder's note.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let clerk = "Ada";
    /// let lock = redlock_runtime::lock("order:42").note(format_args!("refund, by {clerk}"));
    /// let lease = lock.acquire().await?;
    /// assert_eq!(lease.note().expect("a note").as_str(), "refund, by Ada");
    /// # lease.release().await;
    /// # Ok(()) }
    /// ```
    pub fn note(self, note: impl fmt::Display) -> Self {
        Self(self.0.note(format_args!("{note}")), PhantomData)
    }

    /// Sets the parameters that `options` set, and keeps the others. After [`fencing`](Self::fencing), the lock is fenced
    /// even if `options` say otherwise.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// use redlock_runtime::parameters::LockOptions;
    ///
    /// let once = LockOptions::new().retry_count(0);
    /// let lease = redlock_runtime::lock("order:42").options(once).acquire().await?;
    /// # lease.release().await;
    /// # Ok(()) }
    /// ```
    pub fn options(mut self, options: LockOptions) -> Self {
        self.0.options = options.above(self.0.options);
        self
    }

    /// Asks the nodes who holds the lock. A majority says that the lock is free, or names its holder.
    ///
    /// The question only reads, so holders and waiters do not notice it. Of this lock's setters, only
    /// [`pools`](Self::pools) and [`name`](Self::name) have an effect: the pools select the nodes, and errors show the name.
    ///
    /// The answer describes a moment that has passed when it arrives. Use it for people, dashboards and logs: a free lock
    /// may have a holder before the next line runs. If the resource has [`permits`](Self::permits), the answer is about
    /// permit 0 alone.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// use redlock_runtime::peek::LockStatus;
    ///
    /// let lease = redlock_runtime::lock("order:42").note("refund").acquire().await?;
    /// match redlock_runtime::lock("order:42").peek().await? {
    ///     LockStatus::Free => println!("nobody has it"),
    ///     LockStatus::Held(holder) => {
    ///         println!("{:?} has it, by {} votes", holder.owner(), holder.votes());
    ///         assert_eq!(holder.note().expect("a note").as_str(), "refund");
    ///     }
    ///     undecided => println!("{undecided}"),
    /// }
    /// # lease.release().await;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns a [`LockError`] of the kinds `NotInitialized`, `UnknownPool` and `Invalid`. Failed nodes cause no error. If
    /// the others are too few for a majority, the status is `Undecided`, and lists the failed nodes.
    ///
    /// # Cancellation
    /// Dropping the future has no effect on the nodes.
    pub async fn peek(self) -> Result<LockStatus, LockError> {
        let (registry, nodes) = self.0.registry_and_nodes()?;
        let client = &registry.shared.client;
        let status = client.peek(&nodes, &self.0.resource).await;
        status.map_err(|it| self.0.error(LockErrorKind::Invalid(it), Some(&registry)))
    }

    /// Deletes the lock on its nodes in an emergency, even if another process holds it.
    ///
    /// The keys of all kinds of locks are deleted: the plain lock, all permits, and readers. Fencing counters and the records
    /// of [`once_per`](Self::once_per) stay. The call succeeds if a majority confirms. The result names the holders that
    /// lost the lock, and the nodes that did not confirm. The outcome is logged. Of this lock's setters, only
    /// [`pools`](Self::pools) and [`name`](Self::name) have an effect: the pools select the nodes, and errors and logs show
    /// the name.
    ///
    /// The holder notices later: see the guide's page
    /// [looking](crate::guide::tasks::looking#force-a-release).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let _stuck = redlock_runtime::lock("order:42").acquire().await?;
    /// let released = redlock_runtime::lock("order:42").force_release().await?;
    /// assert!(released.to_string().starts_with("taken from "));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns a [`LockError`] of the kinds `NotInitialized`, `UnknownPool` and `Invalid`. Without a majority the kind is
    /// `Unavailable`, and some nodes may have deleted the keys.
    ///
    /// # Cancellation
    /// If the future is dropped, some or all nodes may have deleted the keys.
    pub async fn force_release(self) -> Result<ForceReleased, LockError> {
        let (registry, nodes) = self.0.registry_and_nodes()?;
        let LockSpec { resource, site, .. } = &self.0;
        let (client, site) = (&registry.shared.client, site.name());
        let released = client.force_release(&nodes, resource).await;
        match &released {
            Ok(done) => {
                warn!(target: targets::LOCK, %resource, site, outcome = %done, "released by force");
            }
            Err(error) => {
                warn!(target: targets::LOCK, %resource, site, %error, "not released by force");
            }
        }
        let released = released.map_err(LockErrorKind::of_acquire);
        released.map_err(|kind| self.0.error(kind, Some(&registry)))
    }
}

impl LockBuilder {
    /// Asks for a fencing token. The type of the lease then guarantees the token: [`Fenced`]. Later calls of setters cannot
    /// turn it off.
    ///
    /// If you decide at run time, set [`LockOptions::fencing`] by [`options`](Self::options), and ask the lease for its
    /// token by [`LeaseHandle::fenced`].
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").fencing().retry_count(0).acquire().await?;
    /// println!("UPDATE … WHERE fence <= {}", lease.fencing_token().as_i64());
    /// # lease.release().await;
    /// # Ok(()) }
    /// ```
    pub fn fencing(self) -> LockBuilder<Fenced<Lease>> {
        LockBuilder(self.0, PhantomData)
    }

    /// Acquires the lock. A call below a body that holds the same resource on the same pools shares the lease of that
    /// body.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let lease = redlock_runtime::lock("order:42").acquire().await?;
    /// lease.release().await;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns a [`LockError`]. Its kind is `Lost` only if the call was to share a lease that is over.
    ///
    /// # Cancellation
    /// Dropping the future sends a release to every node that may have granted the lock.
    pub async fn acquire(self) -> Result<Lease, LockError> {
        self.0.acquire().await
    }

    /// Acquires the lock, runs `body` under it, and releases the lock.
    ///
    /// `body` is a future and receives no lease, because few bodies need one. A body that needs its lease calls
    /// [`current_lease`](crate::current_lease).
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let id = 7;
    /// let total = redlock_runtime::lock(format!("cart:{id}")).run(async { 6 * id }).await?;
    /// assert_eq!(total, 42);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the [`LockError`] of the acquisition, or `Lost` if the body was cancelled because its lease ended.
    ///
    /// # Cancellation
    /// Dropping the future drops the body first, and then releases the lock.
    pub fn run<B: Future>(self, body: B) -> impl Future<Output = Result<B::Output, LockError>> {
        let body = MappedBody { body, map: Ok };
        run_call(self.0.begin(), body, result_rules())
    }

    /// Runs a body that may fail, as [`run`](Self::run) does. With [`once_per`](Self::once_per), a run whose body returns
    /// `Err` is forgotten unless [`remember`](Self::remember) says otherwise, so the next call runs.
    ///
    /// # Example: a report once an hour, by the first process that comes
    /// ```
    /// # use std::io;
    /// # use redlock_runtime::LockError;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// # #[derive(Debug, thiserror::Error)]
    /// # enum Failed { #[error(transparent)] Lock(#[from] LockError), #[error(transparent)] Io(#[from] io::Error) }
    /// use std::time::Duration;
    ///
    /// let hourly = || redlock_runtime::lock("report").once_per(Duration::from_secs(3600));
    /// let failed: Result<(), Failed> = hourly()
    ///     .try_run(async { Err(io::Error::other("no disk"))? })
    ///     .await;
    /// assert!(matches!(failed, Err(Failed::Io(_))));
    /// let again: Result<(), Failed> = hourly().try_run(async { Ok(()) }).await;
    /// assert!(again.is_ok());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the body's own error, or an error of [`run`](Self::run) that is converted to `E`.
    ///
    /// # Cancellation
    /// Dropping the future has the same effect as for [`run`](Self::run).
    pub fn try_run<T, E: From<LockError>>(
        self,
        body: impl Future<Output = Result<T, E>>,
    ) -> impl Future<Output = Result<T, E>> {
        run_call(self.0.begin(), body, result_rules())
    }
}

impl LockBuilder<Fenced<Lease>> {
    /// Acquires the lock as [`LockBuilder::acquire`] does, with a fencing token.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let first = redlock_runtime::lock("order:42").fencing().acquire().await?;
    /// let token = first.fencing_token();
    /// first.release().await;
    /// let second = redlock_runtime::lock("order:42").fencing().acquire().await?;
    /// assert!(second.fencing_token() > token);
    /// # second.release().await;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`LockBuilder::acquire`], and `Invalid` inside the body of a
    /// holder whose lease has no token.
    ///
    /// # Cancellation
    /// Dropping the future has the same effect as for [`LockBuilder::acquire`].
    pub async fn acquire(self) -> Result<Fenced<Lease>, LockError> {
        self.spec().acquire().await.map(Fenced::new)
    }

    /// Runs `body` as [`LockBuilder::run`] does, and gives it its lease with the fencing token.
    ///
    /// `body` is a function of the lease, because its writes need the token.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let lock = redlock_runtime::lock("order:42").fencing();
    /// lock.run(async |lease| println!("UPDATE … WHERE fence <= {}", lease.fencing_token())).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`LockBuilder::run`], and `Invalid` inside the body of a
    /// holder whose lease has no token.
    ///
    /// # Cancellation
    /// Dropping the future has the same effect as for [`LockBuilder::run`].
    pub async fn run<B: Future>(
        self,
        body: impl FnOnce(Fenced<LeaseHandle>) -> B,
    ) -> Result<B::Output, LockError> {
        let acquired = self.spec().acquire_for_body().await;
        Fenced::new(acquired?).run(body).await
    }

    /// Runs `body` as [`LockBuilder::try_run`] does, and gives it its lease with the fencing token.
    ///
    /// ```
    /// # use redlock_runtime::LockError;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let redlock = redlock_runtime::Redlock::start(redlock_runtime::Config::new().pool("a", "memory://a")).await?; let _entered = redlock.registry().enter();
    /// let lock = redlock_runtime::lock("order:42").fencing();
    /// let token: Result<i64, LockError> =
    ///     lock.try_run(async |lease| Ok(lease.fencing_token().as_i64())).await;
    /// assert!(token? > 0);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// Returns the body's own error, or an error of [`run`](Self::run) that is converted to `E`.
    ///
    /// # Cancellation
    /// Dropping the future has the same effect as for [`LockBuilder::run`].
    pub async fn try_run<T, E: From<LockError>, B: Future<Output = Result<T, E>>>(
        self,
        body: impl FnOnce(Fenced<LeaseHandle>) -> B,
    ) -> Result<T, E> {
        let acquired = self.spec().acquire_for_body().await;
        Fenced::new(acquired?).try_run(body).await
    }

    /// Returns the specification of this lock. Sets `fencing` last, so that it wins over `options`.
    fn spec(mut self) -> LockSpec {
        self.0.options.fencing = Some(true);
        self.0
    }
}
