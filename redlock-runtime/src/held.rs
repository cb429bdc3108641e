//! Everything that is held right now, and the gate that closes at shutdown.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redlock_core::{LeaseHandle, Resource};
use tokio::sync::Notify;
use tokio::sync::futures::Notified;

use crate::registry::Wanted;
use crate::site::Site;

/// The held leases of one registry. One mutex, held for the time of a map operation.
#[derive(Default)]
pub(crate) struct HeldTable {
    state: Mutex<State>,
    /// Tells acquisitions under way that the gate has closed.
    pub(crate) closing: Notify,
    /// Tells the shutdown that a lease has gone.
    left: Notify,
}

#[derive(Default)]
struct State {
    next_id: u64,
    entries: BTreeMap<u64, Entry>,
    is_closed: bool,
    /// What left since the gate closed, as it was then: the shutdown reports it.
    departed: BTreeMap<u64, HeldLease>,
}

#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) id: u64,
    pub(crate) site: Option<&'static Site>,
    pub(crate) lease: LeaseHandle,
    /// A body runs under the lease; it is cancelled before the lease is released.
    pub(crate) has_body: bool,
}

/// A lease that is held right now.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HeldLease {
    /// What is locked.
    pub resource: Resource,
    /// The annotated function, or `None` for the object style.
    pub site: Option<&'static Site>,
    /// How long it has been held.
    pub held_for: Duration,
    /// For how much longer it is valid.
    pub validity: Duration,
    /// A few digits of its owner token.
    pub token_id: String,
}

/// A place in the table. Dropping it takes the lease out.
pub(crate) struct Place {
    table: Arc<HeldTable>,
    id: u64,
}

impl HeldTable {
    /// Enters a lease, unless the gate has closed. `is_below` lets a call pass that runs below a
    /// lease which is itself in the table: it belongs to work that shutdown waits for.
    pub(crate) fn enter(
        self: &Arc<Self>,
        wanted: &Wanted,
        lease: LeaseHandle,
        is_below: bool,
    ) -> Option<Place> {
        let mut state = self.lock();
        if state.is_closed && !is_below {
            return None;
        }
        let id = state.next_id;
        state.next_id += 1;
        let (site, has_body) = (wanted.site, wanted.has_body);
        let entry = Entry {
            id,
            site,
            lease,
            has_body,
        };
        state.entries.insert(id, entry);
        Some(Place {
            table: Arc::clone(self),
            id,
        })
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Lets no further acquisition in.
    pub(crate) fn close(&self) {
        self.lock().is_closed = true;
        self.closing.notify_waiters();
    }

    /// Waits until nothing is held.
    pub(crate) async fn emptied(&self) {
        loop {
            let left = self.left();
            if self.lock().entries.is_empty() {
                return;
            }
            left.await;
        }
    }

    /// Completes when a lease leaves after this call.
    pub(crate) fn left(&self) -> Notified<'_> {
        self.left.notified()
    }

    pub(crate) fn entries(&self) -> Vec<Entry> {
        self.lock().entries.values().cloned().collect()
    }

    /// What left since the gate closed.
    pub(crate) fn take_departed(&self) -> BTreeMap<u64, HeldLease> {
        std::mem::take(&mut self.lock().departed)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code that can panic runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entry {
    pub(crate) fn describe(&self) -> HeldLease {
        HeldLease {
            resource: self.lease.resource().clone(),
            site: self.site,
            held_for: self.lease.held_for(),
            validity: self.lease.validity(),
            token_id: self.lease.token_id().to_owned(),
        }
    }
}

impl Place {
    /// From here on a body runs under the lease.
    pub(crate) fn set_has_body(&self) {
        if let Some(entry) = self.table.lock().entries.get_mut(&self.id) {
            entry.has_body = true;
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let (entry, is_closed) = {
            let mut state = self.table.lock();
            (state.entries.remove(&self.id), state.is_closed)
        };
        // Described and dropped outside of the lock: the last handle of a claim sends its release.
        if let Some(entry) = entry.filter(|_| is_closed) {
            let departed = entry.describe();
            self.table.lock().departed.insert(self.id, departed);
        }
        self.table.left.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use redlock_core::{Client, IoThread, MemoryNode, Node, NodeSet, Request};

    use super::*;
    use crate::parameters::Parameters;
    use crate::registry::PoolNames;

    #[test]
    fn a_lease_that_was_won_while_the_gate_closed_is_not_let_in() {
        let io = IoThread::start().unwrap();
        let environment = io.environment();
        let node = MemoryNode::new("a", Arc::clone(&environment.clock));
        let nodes: NodeSet = Arc::new([Arc::new(node) as Arc<dyn Node>]);
        let client = Client::new(environment);
        let request = Request::new("r");
        let acquiring = client.acquire(&nodes, &request);
        let lease = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(acquiring)
            .unwrap();
        let wanted = Wanted {
            resource: "r".into(),
            site: None,
            pools: PoolNames::Default,
            parameters: Parameters::NONE,
            has_body: false,
        };
        let table = Arc::new(HeldTable::default());
        let before = table.enter(&wanted, lease.handle(), false).unwrap();
        table.close();
        assert!(table.enter(&wanted, lease.handle(), false).is_none());
        // Below a lease that is held, it is part of what the shutdown waits for.
        let below = table.enter(&wanted, lease.handle(), true).unwrap();
        assert_eq!(table.entries().len(), 2);
        drop((before, below));
        assert!(table.entries().is_empty());
        assert_eq!(table.take_departed().len(), 2);
    }
}
