//! What an in-process node does with permits, as the script of a server does.

use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::model::permits::{CountRecord, PermitReport, PermitSet};
use crate::node::operation::{Operation, counter_ttl};
use crate::node::{Answer, Holding, NodeError, NodeErrorKind, PermitKey, PermitOrder, Remaining};

use super::store::{Store, clamped, kept_for};

impl Store {
    /// Takes the first free permits in the operation's order, all or none.
    pub(super) fn acquire_permits(
        &mut self,
        operation: &Operation,
        (ttl, hint): (Duration, u64),
        now: Moment,
        wall: Duration,
    ) -> Answer {
        let Some(order) = operation.permits() else {
            let detail = "an acquisition of permits that names none";
            return Answer::Failed(NodeError::unsent(NodeErrorKind::Protocol, detail));
        };
        let free = order.keys().iter();
        let free = free.filter(|key| !self.entries.contains_key(&key.key));
        let report = PermitReport {
            taken: PermitSet::default(),
            free: free.map(|key| key.permit).collect(),
            other_count: self.count_permits(operation, order, now.saturating_add(counter_ttl(ttl))),
        };
        let Some(taken) = order.granted_of(&report.free) else {
            let holding = self.first_to_expire(order, now);
            return Answer::Held(holding.with_permits(report));
        };
        let keys = order.keys().iter().filter(|key| taken.contains(key.permit));
        let keys: Vec<PermitKey> = keys.cloned().collect();
        for key in &keys {
            let expires = now.saturating_add(ttl);
            self.put(&key.key, operation.token().as_bytes(), expires);
        }
        Answer::Granted {
            counter: order
                .is_fenced()
                .then(|| self.count_for(&keys, clamped(hint, wall), (ttl, wall), now)),
            epoch: 0,
            permits: Some(Arc::new(PermitReport { taken, ..report })),
        }
    }

    /// Writes the record of the number of permits, if there is none or another one, which is returned.
    fn count_permits(
        &mut self,
        operation: &Operation,
        order: &PermitOrder,
        expires: Moment,
    ) -> Option<CountRecord> {
        let known = self.entries.get(order.count_key());
        let known = known.and_then(|entry| CountRecord::read(&entry.value));
        if known.as_ref().map(CountRecord::count) == Some(order.count().into()) {
            return None;
        }
        let record = order.count_record(operation.token());
        self.put(order.count_key(), &record, expires);
        known
    }

    fn first_to_expire(&self, order: &PermitOrder, now: Moment) -> Holding {
        let entries = order
            .keys()
            .iter()
            .filter_map(|key| self.entries.get(&key.key));
        let first = entries.min_by_key(|entry| entry.expires);
        first.map_or_else(Holding::default, |entry| {
            let left = Remaining::Expires(entry.expires.saturating_since(now));
            Holding::by(&entry.value).for_time(left)
        })
    }

    /// Raises the counters of the permits that were taken to one number.
    fn count_for(
        &mut self,
        keys: &[PermitKey],
        hint: u64,
        (ttl, wall): (Duration, Duration),
        now: Moment,
    ) -> u64 {
        let counters = || keys.iter().filter_map(|key| key.counter.as_deref());
        let next = counters().map(|key| self.counter(key).saturating_add(1));
        let next = next.max().unwrap_or_default().max(hint);
        let expires = now.saturating_add(kept_for(next, ttl, wall));
        for key in counters() {
            self.put(key, next.to_string().as_bytes(), expires);
        }
        next
    }
}
