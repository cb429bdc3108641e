//! The type that the attribute's expansion calls.

use std::fmt;
use std::future::Future;
use std::sync::OnceLock;

use redlock_core::Resource;

use super::request::leave_request;
use crate::acquire::{AcquireFuture, LockSpec};
use crate::lease::Lease;
#[cfg(feature = "tower")]
use crate::lock::Lock;
use crate::parameters::prelude::*;
use crate::site::Site;

/// One call of an annotated function, before it has its lock.
#[must_use]
pub struct Call {
    spec: LockSpec,
}

// For the values that the attribute gives as expressions.
for_each_parameter!(setters!(Call));

impl Call {
    /// A call under a lock of the object style.
    #[cfg(feature = "tower")]
    pub(crate) fn of(lock: Lock) -> Self {
        let mut spec = lock.0;
        spec.has_body = true;
        Self { spec }
    }

    /// A call of the function at `site`, for a resource that was computed before.
    pub fn new(site: &'static Site, resource: Resource) -> Self {
        let mut spec = LockSpec::new(resource, site, true);
        spec.options = site.own_options();
        Self { spec }
    }

    /// The same for a template. The trait of other values would cost rustc more in each annotated function.
    pub fn formatted(site: &'static Site, resource: fmt::Arguments<'_>) -> Self {
        Self::new(site, resource.into())
    }

    /// What people are told of the holder.
    pub fn note(mut self, note: fmt::Arguments<'_>) -> Self {
        self.spec.set_note(note);
        self
    }

    fn options_mut(&mut self) -> &mut LockOptions {
        &mut self.spec.options
    }

    /// Asks for the lock inside the body, which awaits the value at once.
    pub fn ask(self) -> impl Future<Output = ()> + Send {
        leave_request(self.acquire())
    }

    pub(super) fn acquire(self) -> AcquireFuture {
        self.spec.acquire()
    }
}

/// The values that `#[redlock]` takes for `resource`: those that are `Into<Resource>`.
// A trait of our own, so that rustc says what to write for a value of another type.
#[diagnostic::on_unimplemented(
    message = "a value of type `{Self}` names no lock",
    label = "neither text nor bytes, and no list of these",
    note = "for a number or a field write a template, `resource = \"order:{{id}}\"`; for several locks a list of \
            texts",
    note = "a type of your own names a lock by its `impl From<…> for redlock_runtime::Resource`"
)]
pub trait NamesLock: Sized {
    /// The lock's name.
    fn resource(value: Self) -> Resource;
}

#[diagnostic::do_not_recommend]
impl<T: Into<Resource>> NamesLock for T {
    fn resource(value: Self) -> Resource {
        value.into()
    }
}

/// The lease of one call, once the call has it. Dropping the slot sends the release.
#[must_use]
#[derive(Default)]
pub struct LeaseSlot {
    lease: OnceLock<Lease>,
}

impl LeaseSlot {
    /// An empty slot.
    pub const fn new() -> Self {
        Self {
            lease: OnceLock::new(),
        }
    }

    /// Keeps the lease of the one call that the slot is for.
    pub(super) fn fill(&self, lease: Lease) -> &Lease {
        self.lease.get_or_init(|| lease)
    }

    /// The value that `guard` binds in the body.
    ///
    /// # Panics
    /// If the body was not given to [`run`](super::call_future::run) with this slot.
    pub fn lease(&self) -> &Lease {
        self.lease.get().expect("a body runs under its lock only")
    }
}
