//! What an in-process node does with permits, as the script of a server does.

use std::sync::Arc;
use std::time::Duration;

use crate::env::Moment;
use crate::node::operation::Operation;
use crate::node::{Answer, Holding, PermitReport};

use super::store::Store;

impl Store {
    /// Takes the first free permit in the operation's order.
    pub(super) fn acquire_permit(
        &mut self,
        operation: &Operation,
        ttl: Duration,
        now: Moment,
    ) -> Answer {
        let order = operation.permits().iter();
        let free: Vec<_> = order
            .filter(|key| !self.entries.contains_key(&key.key))
            .collect();
        let mut report = PermitReport {
            taken: None,
            free: free.iter().map(|key| key.permit).collect(),
        };
        let Some(first) = free.first() else {
            let holding = self.first_to_expire(operation, now);
            return Answer::Held(holding.with_permits(report));
        };
        let expires = now.saturating_add(ttl);
        self.put(&first.key, operation.token().as_bytes(), expires);
        report.taken = Some(first.permit);
        Answer::Granted {
            counter: None,
            epoch: 0,
            permits: Some(Arc::new(report)),
        }
    }

    fn first_to_expire(&self, operation: &Operation, now: Moment) -> Holding {
        let keys = operation.permits().iter();
        let entries = keys.filter_map(|key| self.entries.get(&key.key));
        let first = entries.min_by_key(|entry| entry.expires);
        first.map_or_else(Holding::default, |entry| entry.seen(now))
    }
}
