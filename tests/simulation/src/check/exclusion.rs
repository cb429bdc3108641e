//! The rule that holders exclude each other.

use redlock_core::Resource;
use redlock_core::request::Kind;

use crate::history::{History, Invariant, LeaseRecord};

use super::Broken;

impl History {
    /// Validity has no gaps and never comes back, so two leases were valid at once if and only if
    /// the earlier one is valid when the later one begins: which is now.
    pub(super) fn check_exclusion(&self, number: usize, broken: &mut Broken) {
        let others: Vec<_> = {
            let inner = self.lock();
            let resource = inner.leases[number].resource.clone();
            let is_reader = inner.leases[number].handle.kind() == Kind::Read;
            let others = inner.leases.iter().enumerate();
            others
                .filter(|(other, lease)| *other != number && share(&lease.resource, &resource))
                .filter(|(_, lease)| !is_reader || lease.handle.kind() != Kind::Read)
                .map(|(_, lease)| (lease.process, lease.handle.clone(), lease.permit))
                .collect()
        };
        let permit = self.lock().leases[number].permit;
        let mut held = 1;
        for (process, handle, other) in others {
            let (over, validity) = self.world.observing(|| (handle.over(), handle.validity()));
            if over.is_some() {
                continue;
            }
            held += 1;
            if permit == other {
                let text = format!(
                    "{} of c{process} is valid for {validity:?} more",
                    handle.token_id()
                );
                broken.push((Invariant::Exclusion, text));
            }
        }
        let most = self.rules.permits.map_or(usize::MAX, usize::from);
        if held > most {
            let text = format!("{held} of {most} permits are held");
            broken.push((Invariant::TooManyPermits, text));
        }
    }
}

impl LeaseRecord {
    /// True if the two exclude each other.
    pub(crate) fn meets(&self, other: &Self) -> bool {
        share(&self.resource, &other.resource) && self.permit == other.permit
    }
}

/// True if they have a name in common.
fn share(one: &Resource, two: &Resource) -> bool {
    one.names()
        .any(|name| two.names().any(|other| name == other))
}
