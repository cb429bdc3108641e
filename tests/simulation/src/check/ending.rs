//! The rules about how a lease ends.

use std::sync::Arc;

use crate::history::{History, Invariant};
use crate::server::Server;

impl History {
    /// Lease `number` is just being given up because too few nodes hold its key: those that
    /// vouch for it since it was made.
    pub(crate) fn given_up(&self, number: usize, servers: &[Arc<Server>]) {
        let broken = {
            let mut inner = self.lock();
            let inner = &mut *inner;
            inner.coverage.given_up += 1;
            let Some(lease) = inner.leases.get(number) else {
                return;
            };
            let attempt = &inner.attempts[lease.attempt];
            // Where a key was put back, or came over a connection that was given up, there was none
            // for a while, perhaps.
            let has_had_it = |server: &&Arc<Server>| {
                let seat = &attempt.seats[server.seat];
                seat.granted.is_some()
                    && seat.heard_at.is_some()
                    && seat.heard_at <= attempt.made_by
                    && !seat.was_restored
                    && !seat.is_excused
                    && server.has(&lease.resource, &attempt.token)
            };
            let seats: Vec<_> = servers.iter().filter(has_had_it).map(|s| s.seat).collect();
            let is_majority = seats.len() > self.rules.nodes / 2;
            let id = &attempt.short_id;
            is_majority.then(|| format!("{id} is given up, and the nodes {seats:?} have its key"))
        };
        if let Some(text) = broken {
            self.violated(Invariant::GivenUp, text);
        }
    }
}
