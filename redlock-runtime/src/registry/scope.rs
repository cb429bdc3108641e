//! Finds the registry that a call uses.
//!
//! The first of these registries is used:
//!
//! 1. the registry of the task ([`Registry::scope`]);
//! 2. the registry of the thread ([`Registry::enter`]);
//! 3. the registry that a test's `TestLocks` attached to the tokio runtime of the call (feature `testing`);
//! 4. the global registry that `init` made.
//!
//! The first three are for tests. A program without `TestLocks` finds the same registry with and without the feature
//! `testing`. The global registry stays in its slot after its shutdown, so that a late call gets `ShuttingDown` and not
//! `NotInitialized`. Another `init` may then replace it.
//!
//! A lease knows its registry. So each registry decides on its own whether a call runs below one of its held leases.

use std::cell::RefCell;
use std::sync::Arc;
#[cfg(feature = "testing")]
use std::sync::OnceLock;

use parking_lot::RwLock;
use redlock_core::internal::is_forked;

use super::Registry;

tokio::task_local! {
    /// The registry of the running task: see [`Registry::scope`].
    pub(super) static TASK: Registry;
}

thread_local! {
    static THREAD: RefCell<Vec<Registry>> = const { RefCell::new(Vec::new()) };
}

/// The registry that `init` made. The registry stays here after a shutdown, so that late calls get `ShuttingDown`.
static GLOBAL: RwLock<Option<Registry>> = RwLock::new(None);

/// Keeps a registry in use on this thread until the guard is dropped: see [`Registry::enter`].
#[must_use = "the registry is left when the guard is dropped"]
pub struct Entered {
    registry: Registry,
    /// Keeps the guard on its thread, because the drop has to run there.
    _not_send: std::marker::PhantomData<*const ()>,
}

impl Entered {
    pub(super) fn new(registry: Registry) -> Self {
        THREAD.with_borrow_mut(|entered| entered.push(registry.clone()));
        Self {
            registry,
            _not_send: std::marker::PhantomData,
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        // Drop the registry after the borrow, because the end of a registry may run any code. Guards may be dropped in
        // any order, so look for the registry of this guard.
        let _left = THREAD.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            let ours = entered
                .iter()
                .rposition(|other| Arc::ptr_eq(&other.shared, &self.registry.shared));
            ours.map(|ours| entered.remove(ours))
        });
    }
}

/// The resolver of the testing kit. A call asks the resolver after the thread's registry and before the global one.
#[cfg(feature = "testing")]
static RESOLVER: OnceLock<fn() -> Option<Registry>> = OnceLock::new();

/// Sets the resolver that may name a registry before the global one is used. Only the first call counts.
#[cfg(feature = "testing")]
pub(crate) fn set_resolver(resolver: fn() -> Option<Registry>) {
    RESOLVER.get_or_init(|| resolver);
}

/// Returns the registry that a call uses here and now. A forked process has none.
pub(crate) fn current() -> Option<Registry> {
    if is_forked() {
        return None;
    }
    if let Ok(registry) = TASK.try_with(Registry::clone) {
        return Some(registry);
    }
    if let Ok(Some(registry)) = THREAD.try_with(|entered| entered.borrow().last().cloned()) {
        return Some(registry);
    }
    #[cfg(feature = "testing")]
    if let Some(registry) = RESOLVER.get().and_then(|resolver| resolver()) {
        return Some(registry);
    }
    GLOBAL.read().clone()
}

/// Makes `registry` the global one. Returns false if another global registry has not begun to shut down.
pub(crate) fn set_global(registry: Registry) -> bool {
    let mut global = GLOBAL.write();
    let is_free = global.as_ref().is_none_or(Registry::is_closing);
    if is_free {
        *global = Some(registry);
    }
    is_free
}
