//! Finds the registry for a call by the runtime that the call runs on.
//!
//! Every `#[tokio::test]` has a runtime of its own. So parallel tests do not see each other, and tasks that a test
//! spawns find its registry.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::RwLock;
use tokio::runtime::{Handle, Id};

use crate::registry::{Registry, scope};

/// The registries that are attached to each runtime. A call uses the last registry of its runtime.
static ATTACHED: RwLock<Option<HashMap<Id, Vec<Registry>>>> = RwLock::new(None);

/// Returns the registry of the runtime that the calling code runs on.
fn current() -> Option<Registry> {
    let attached = ATTACHED.read();
    let runtime = Handle::try_current().ok()?.id();
    attached.as_ref()?.get(&runtime)?.last().cloned()
}

pub(super) fn attach(runtime: Id, registry: &Registry) {
    scope::set_resolver(current);
    let mut attached = ATTACHED.write();
    let registries = attached.get_or_insert_default().entry(runtime).or_default();
    if !registries.iter().any(|other| is_same(other, registry)) {
        registries.push(registry.clone());
    }
}

pub(super) fn detach(registry: &Registry) {
    let mut left = Vec::new();
    {
        let mut attached = ATTACHED.write();
        if let Some(attached) = attached.as_mut() {
            attached.retain(|_, registries| {
                left.extend(registries.extract_if(.., |other| is_same(other, registry)));
                !registries.is_empty()
            });
        }
    }
    // Drop the registries outside of the lock, because a registry's end may run any code.
    drop(left);
}

fn is_same(one: &Registry, other: &Registry) -> bool {
    Arc::ptr_eq(&one.shared, &other.shared)
}
