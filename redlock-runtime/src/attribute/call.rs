//! The type that the attribute's expansion calls.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::OnceLock;
use std::task::{Context, Poll};

use redlock_core::Resource;

use crate::acquire::{PoolNames, Prepared, Wanted};
use crate::error::LockError;
use crate::lease::Lease;
use crate::parameters::prelude::*;
use crate::registry::held::Holder;
use crate::site::Site;
use crate::telemetry::{HoldSpan, within};

/// One call of an annotated function, before it has its lock.
#[must_use]
pub struct Call {
    wanted: Wanted,
}

// For the values that the attribute gives as expressions.
for_each_parameter!(setters!(Call));

impl Call {
    /// A call of the function at `site`, for a resource that was computed before.
    pub fn new(site: &'static Site, resource: impl Into<Resource>) -> Self {
        let pools = site.pool_names();
        let wanted = Wanted {
            holder: Holder {
                site: Some(site),
                has_body: true,
            },
            resource: resource.into(),
            pools: pools.map_or(PoolNames::Default, PoolNames::Static),
            options: site.own_options(),
        };
        Self { wanted }
    }

    fn options_mut(&mut self) -> &mut LockOptions {
        &mut self.wanted.options
    }

    /// Runs `body` under the lock: acquires the lock, polls the body while the lease is valid,
    /// drops the body, releases the lock and waits until the next caller could win.
    ///
    /// Dropping the future drops the body first, then sends the release.
    pub fn run<F: Future>(
        self,
        body: Pin<&mut Option<F>>,
    ) -> Run<impl Future<Output = Result<F::Output, LockError>> + use<'_, F>> {
        let body = Body(body);
        self.begin(|mut prepared| async move {
            let lease = prepared.acquire().await?;
            under(&lease, body).await
        })
    }

    /// The same for a body that uses the lease. The body finds the lease in `held`, which belongs
    /// to the caller and is dropped after the body.
    pub fn run_with<'a, F: Future>(
        self,
        held: &'a Slot,
        body: Pin<&'a mut Option<F>>,
    ) -> Run<impl Future<Output = Result<F::Output, LockError>> + use<'a, F>> {
        let body = Body(body);
        self.begin(|mut prepared| async move {
            let lease = prepared.acquire().await?;
            under(held.lease.get_or_init(|| lease), body).await
        })
    }

    fn begin<F>(self, run: impl FnOnce(Prepared) -> F) -> Run<F> {
        match self.wanted.prepare() {
            // Boxed: the acquisition is a large future, and would be a part of the user's future.
            Ok(prepared) => Run::Begun(Box::pin(run(prepared))),
            Err(error) => Run::Refused(Some(error)),
        }
    }
}

/// A call in progress.
#[must_use = "futures do nothing unless awaited"]
pub enum Run<F> {
    Refused(Option<LockError>),
    Begun(Pin<Box<F>>),
}

impl<T, F: Future<Output = Result<T, LockError>>> Future for Run<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        match &mut *self {
            Self::Begun(future) => future.as_mut().poll(context),
            Self::Refused(error) => Poll::Ready(Err(error.take().expect("polled to its end once"))),
        }
    }
}

async fn under<F: Future>(lease: &Lease, body: Body<'_, F>) -> Result<F::Output, LockError> {
    let mut running = Running {
        body,
        span: lease.span(),
    };
    let outcome = {
        let body = running.body.0.as_mut().as_pin_mut().expect("a body");
        let work = pin!(lease.hold(body, &running.span));
        within(running.span.span(), work).await
    };
    running.leave();
    within(running.span.span(), pin!(lease.release_in_place())).await;
    outcome
}

/// Drops the body in place: the body belongs to the caller, and is dropped before the lock.
struct Body<'a, F>(Pin<&'a mut Option<F>>);

impl<F> Drop for Body<'_, F> {
    fn drop(&mut self) {
        self.0.set(None);
    }
}

/// A body under its lease. The body runs inside its span, its last drop included.
struct Running<'a, F> {
    body: Body<'a, F>,
    span: HoldSpan,
}

impl<F> Running<'_, F> {
    fn leave(&mut self) {
        let _entered = self.span.span().enter();
        self.body.0.set(None);
    }
}

impl<F> Drop for Running<'_, F> {
    fn drop(&mut self) {
        self.leave();
    }
}

/// The lease of one call, once the call has it. Dropping the slot sends the release.
#[must_use]
#[derive(Default)]
pub struct Slot {
    lease: OnceLock<Lease>,
}

impl Slot {
    /// An empty slot.
    pub const fn new() -> Self {
        Self {
            lease: OnceLock::new(),
        }
    }

    /// The value that `guard` binds in the body.
    ///
    /// # Panics
    /// If the body is polled by anything but [`Call::run_with`].
    pub fn lease(&self) -> &Lease {
        self.lease.get().expect("a body runs under its lock only")
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use super::*;
    use crate::{Config, Redlock};

    /// glibc takes blocks up to this size from a list of the thread itself. A larger block takes
    /// several times as long, and would be most of the attribute's cost.
    const CACHED: usize = 1032;

    #[test]
    fn the_way_to_a_lock_and_back_is_small_enough_to_be_allocated_quickly() {
        static SITE: Site = Site::new("module", "function", "file", 1, 1, "r");
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(async {
            let redlock = Redlock::start(Config::new().pool("a", "memory://a")).await;
            let redlock = redlock.unwrap();
            let _entered = redlock.registry().enter();
            let body = pin!(Some(std::future::ready(())));
            let Run::Begun(future) = Call::new(&SITE, "r").run(body) else {
                panic!("refused");
            };
            let size = size_of_val(&*future);
            assert!(size <= CACHED, "{size} bytes");
            assert!(future.await.is_ok());
        });
    }
}
