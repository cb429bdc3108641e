//! The registry that a call uses: the task's ([`Registry::scope`]), else the thread's ([`Registry::enter`]),
//! else the one that a test's `TestLocks` attached to the tokio runtime that the call runs on, else the
//! global one that `init` made. A program that makes no `TestLocks` finds the same with and without the feature `testing`.
//!
//! All but the last are for tests. The global one stays in its slot after its shutdown, so that a late call
//! is told `ShuttingDown` and not `NotInitialized`. Another `init` may then replace it.
//!
//! A lease knows its registry, so "below a held lease" is asked for each registry by itself.

use std::cell::RefCell;
use std::sync::Arc;
#[cfg(feature = "testing")]
use std::sync::OnceLock;

use parking_lot::RwLock;
use redlock_core::internal::is_forked;

use super::Registry;

tokio::task_local! {
    /// See [`Registry::scope`].
    pub(super) static TASK: Registry;
}

thread_local! {
    static THREAD: RefCell<Vec<Registry>> = const { RefCell::new(Vec::new()) };
}

/// Set by `init`. It stays after a shutdown, so that late calls are told of it.
static GLOBAL: RwLock<Option<Registry>> = RwLock::new(None);

/// See [`Registry::enter`].
#[must_use = "the registry is left when the guard is dropped"]
pub struct Entered {
    registry: Registry,
    /// The guard has to be dropped on the thread that made it.
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
        // Taken out of the borrow before it is dropped: a registry's end may run anything.
        // Guards may be dropped in any order.
        let _left = THREAD.try_with(|entered| {
            let mut entered = entered.borrow_mut();
            let ours = entered
                .iter()
                .rposition(|other| Arc::ptr_eq(&other.shared, &self.registry.shared));
            ours.map(|ours| entered.remove(ours))
        });
    }
}

/// The resolver, which is asked after the thread's registry and before the global one. The kit of
/// `testing` sets it.
#[cfg(feature = "testing")]
static RESOLVER: OnceLock<fn() -> Option<Registry>> = OnceLock::new();

/// Sets the resolver that is asked for a registry before the global one is taken. The first one stays.
#[cfg(feature = "testing")]
pub(crate) fn set_resolver(resolver: fn() -> Option<Registry>) {
    RESOLVER.get_or_init(|| resolver);
}

/// Returns the registry for a call made here and now. A forked process has none.
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

/// Makes `registry` the global one. False if another global registry has not shut down.
pub(crate) fn set_global(registry: Registry) -> bool {
    let mut global = GLOBAL.write();
    let is_free = global.as_ref().is_none_or(Registry::is_closing);
    if is_free {
        *global = Some(registry);
    }
    is_free
}
