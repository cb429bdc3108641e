//! The held leases of a registry, and the gate that closes at shutdown.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use parking_lot::Mutex;
use redlock_core::internal::{announce_shutdown, is_forked, revoke, seat_of};
use redlock_core::{LeaseHandle, NodeSet, Resource};
use tokio::sync::{Notify, SetOnce};

use super::held_lease::HeldLease;
use super::pools::pool_names_of;
use crate::error::HolderHere;
use crate::site::Site;

/// The held leases of one registry, under one mutex. Reading a lease under this mutex also locks the lease, or its
/// line.
#[derive(Default)]
pub(crate) struct HeldTable {
    state: Mutex<HeldState>,
    /// Set when the gate closes, at the beginning of a shutdown.
    pub(crate) closed: SetOnce<()>,
    /// Wakes the shutdown when an entry or an acquisition is gone, or when an entry is added after the gate closed.
    changed: Notify,
}

#[derive(Default)]
struct HeldState {
    next_id: u64,
    entries: BTreeMap<u64, HeldEntry>,
    /// The number of acquisitions under way. These acquisitions may already have keys on the nodes, but have no entry
    /// yet.
    under_way: usize,
    /// The entries that left the table after the gate closed, as they were when they left. The shutdown reports them.
    departed: Vec<HeldLease>,
}

/// A held lease in the table.
#[derive(Clone)]
pub(crate) struct HeldEntry {
    pub(crate) site: &'static Site,
    pub(crate) lease: LeaseHandle,
    /// True if a body runs under the lease. The shutdown cancels a body before it releases the lease.
    pub(crate) has_body: bool,
    /// True once the shutdown is about to release the lease. No body may begin from then on.
    is_revoked: bool,
}

/// The place of a lease in the table. Dropping the place removes the lease from the table.
pub(crate) struct HeldPlace {
    table: Arc<HeldTable>,
    id: u64,
    /// True if the lease was acquired for a body.
    pub(crate) had_body: bool,
}

impl HeldTable {
    /// Counts an acquisition that begins. Returns `None` if the gate has closed. `is_below` is as
    /// for [`enter`](Self::enter).
    ///
    /// The shutdown waits until the acquisition ends, in whichever way.
    pub(crate) fn begin_acquisition(
        self: &Arc<Self>,
        is_below: bool,
    ) -> Option<AcquisitionUnderWay> {
        let mut state = self.state.lock();
        if self.closed.initialized() && !is_below {
            return None;
        }
        state.under_way += 1;
        Some(AcquisitionUnderWay(Arc::clone(self)))
    }

    /// Enters a lease into the table. Returns `None` if the gate has closed.
    ///
    /// `is_below` says that the call runs below a lease in the table. Such a call passes a closed gate, because the
    /// shutdown waits for the work that the call belongs to.
    pub(crate) fn enter(self: &Arc<Self>, entry: HeldEntry, is_below: bool) -> Option<HeldPlace> {
        let mut state = self.state.lock();
        let is_closed = self.closed.initialized();
        if is_closed && !is_below {
            return None;
        }
        let id = state.next_id;
        state.next_id += 1;
        let had_body = entry.has_body;
        let late = is_closed.then(|| entry.lease.clone());
        state.entries.insert(id, entry);
        drop(state);
        if let Some(lease) = late {
            self.changed.notify_waiters();
            // Announce outside of the mutex, because this wakes the tasks that wait for the lease.
            announce_shutdown(&lease);
        }
        Some(HeldPlace {
            table: Arc::clone(self),
            id,
            had_body,
        })
    }

    /// Closes the gate to new acquisitions, and tells all holders to finish.
    pub(crate) fn close(&self) {
        // An error means that the gate was closed before.
        let _ = self.closed.set(());
        // Callers check the gate under the mutex. So a caller that found the gate open is counted, or has an entry,
        // before `entries` gets the mutex.
        for entry in self.entries() {
            announce_shutdown(&entry.lease);
        }
    }

    /// Waits until the table is empty and no acquisition is under way.
    pub(crate) async fn wait_until_empty(&self) {
        loop {
            let changed = self.changed.notified();
            {
                let state = self.state.lock();
                if state.entries.is_empty() && state.under_way == 0 {
                    return;
                }
            }
            changed.await;
        }
    }

    /// Cancels every body, including bodies that begin during this call. Waits until all bodies and all acquisitions
    /// under way have ended.
    pub(crate) async fn cancel_bodies(&self) {
        loop {
            let changed = self.changed.notified();
            let mut entries = self.entries();
            entries.retain(|entry| entry.has_body);
            if entries.is_empty() && self.under_way() == 0 {
                return;
            }
            // Revoke outside of the mutex, because this wakes the bodies.
            for entry in entries {
                revoke(&entry.lease);
            }
            changed.await;
        }
    }

    /// Revokes the leases without a body, and returns them. A lease that shares its lock with a body is left out.
    ///
    /// The caller releases the revoked leases, so no body may begin under them.
    pub(crate) fn revoke_bare(&self) -> Vec<HeldEntry> {
        let mut state = self.state.lock();
        let bodies = state.entries.values().filter(|entry| entry.has_body);
        let bodies: BTreeSet<usize> = bodies.map(|entry| entry.lease.lock_id()).collect();
        let bare = state.entries.values_mut();
        let bare = bare.filter(|entry| {
            !entry.has_body && !entry.is_revoked && !bodies.contains(&entry.lease.lock_id())
        });
        bare.map(|entry| {
            entry.is_revoked = true;
            entry.clone()
        })
        .collect()
    }

    /// Returns the number of acquisitions under way.
    pub(crate) fn under_way(&self) -> usize {
        self.state.lock().under_way
    }

    pub(crate) fn count(&self) -> usize {
        self.state.lock().entries.len()
    }

    pub(crate) fn entries(&self) -> Vec<HeldEntry> {
        self.state.lock().entries.values().cloned().collect()
    }

    /// Returns a holder in this process that has a valid lease on one of the names and one of the nodes.
    pub(crate) fn holder_of(&self, resource: &Resource, nodes: &NodeSet) -> Option<HolderHere> {
        let state = self.state.lock();
        let is_wanted = |name: &[u8]| resource.names().any(|other| other == name);
        let is_asked = |node| seat_of(nodes, node).is_some();
        let mut same = state.entries.values().filter(|HeldEntry { lease, .. }| {
            lease.resource().names().any(is_wanted)
                && lease.nodes().iter().any(is_asked)
                && lease.over().is_none()
        });
        same.next().map(|HeldEntry { site, lease, .. }| HolderHere {
            site,
            others: (lease.resource() != resource).then(|| lease.resource().clone()),
            held: lease.held_for(),
        })
    }

    /// Counts, for each node, the held leases that lack a valid grant from that node.
    pub(crate) fn leases_without_grant(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for entry in self.entries() {
            for node in entry.lease.nodes_without_grant() {
                *counts.entry(node.to_owned()).or_insert(0) += 1;
            }
        }
        counts
    }

    /// Takes the entries that left the table after the gate closed, or since the last call of this method.
    pub(crate) fn take_departed(&self) -> Vec<HeldLease> {
        std::mem::take(&mut self.state.lock().departed)
    }
}

impl HeldEntry {
    pub(crate) fn new(site: &'static Site, lease: LeaseHandle, has_body: bool) -> Self {
        Self {
            site,
            lease,
            has_body,
            is_revoked: false,
        }
    }

    pub(crate) fn describe(&self) -> HeldLease {
        HeldLease {
            resource: self.lease.resource().clone(),
            site: self.site,
            since: self.lease.held_since(),
            held_for: self.lease.held_for(),
            validity: self.lease.validity(),
            ttl: self.lease.ttl(),
            extensions: self.lease.extensions(),
            fencing_token: self.lease.fencing_token(),
            permit: self.lease.permit(),
            kind: self.lease.kind(),
            token_id: self.lease.token_id().to_owned(),
            note: self.lease.note(),
            pools: pool_names_of(self.lease.nodes()),
            sharers: self.lease.holders(),
            has_body: self.has_body,
            waiting: self.lease.waiting(),
        }
    }
}

impl HeldPlace {
    /// Marks the lease as one with a body from now on. Returns false if no body may begin, because the lease is about
    /// to be released.
    pub(crate) fn set_has_body(&self) -> bool {
        if self.had_body {
            // The shutdown revokes only leases without a body, so this body may begin.
            return true;
        }
        match self.table.state.lock().entries.get_mut(&self.id) {
            Some(entry) if entry.is_revoked => false,
            Some(entry) => {
                entry.has_body = true;
                true
            }
            None => false,
        }
    }
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        if is_forked() {
            return;
        }
        let _entry = {
            let mut state = self.table.state.lock();
            let entry = state.entries.remove(&self.id);
            if let Some(entry) = entry.as_ref().filter(|_| self.table.closed.initialized()) {
                state.departed.push(entry.describe());
            }
            // Drop the entry outside of the mutex: the last handle of a claim sends its release.
            entry
        };
        self.table.changed.notify_waiters();
    }
}

/// An acquisition under way. When it is dropped, the acquisition has an entry, or a release was sent for everything
/// that it may have left on the nodes.
pub(crate) struct AcquisitionUnderWay(Arc<HeldTable>);

impl Drop for AcquisitionUnderWay {
    fn drop(&mut self) {
        if is_forked() {
            return;
        }
        self.0.state.lock().under_way -= 1;
        self.0.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use redlock_core::{Client, IoThread, MemoryNode, Node, Request};

    use super::*;

    #[test]
    fn a_lease_that_was_won_while_the_gate_closed_is_not_let_in() {
        let io = IoThread::start().unwrap();
        let environment = io.environment();
        let node = MemoryNode::new("a", Arc::clone(&environment.clock));
        let nodes: NodeSet = Arc::new([Arc::new(node) as Arc<dyn Node>]);
        let client = Client::new(environment);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let lock = |name: &str| {
            let acquiring = async { client.acquire(&nodes, &Request::new(name)).await };
            runtime.block_on(acquiring).unwrap()
        };
        let (lease, other) = (lock("r"), lock("s"));
        let site = Site::at(std::panic::Location::caller());
        let entry = |lease: &redlock_core::Lease| HeldEntry::new(site, lease.handle(), false);
        let table = Arc::new(HeldTable::default());
        let before = table.enter(entry(&lease), false).unwrap();
        let under_way = table.begin_acquisition(false).unwrap();
        assert_eq!(table.under_way(), 1);
        drop(under_way);
        assert_eq!(table.under_way(), 0);
        table.close();
        assert!(table.begin_acquisition(false).is_none());
        assert!(table.enter(entry(&lease), false).is_none());
        // A call below a held lease is part of the work that the shutdown waits for.
        let below = table.enter(entry(&other), true).unwrap();
        let joined = table.enter(entry(&other), true).unwrap();
        assert_eq!(table.entries().len(), 3);

        // No body begins under a lease that is about to be released. A lease with a body is kept, and so is each share
        // of its lock.
        assert!(below.set_has_body());
        assert_eq!(table.revoke_bare().len(), 1);
        assert!(!before.set_has_body());
        assert!(table.revoke_bare().is_empty());
        drop(below);
        assert_eq!(table.revoke_bare().len(), 1);

        drop((before, joined));
        assert!(table.entries().is_empty());
        assert_eq!(table.take_departed().len(), 3);
    }
}
