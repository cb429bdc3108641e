//! The rules about how a lease ends.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::env::Moment;
use redlock_core::error::LeaseEnd;
use redlock_core::request::MaxHold;

use crate::history::{History, Invariant};
use crate::server::Server;

/// For two looks at one clock.
const SLACK: Duration = Duration::from_micros(1);

/// With less, pauses and the nodes' time are all of it.
const LONG: Duration = Duration::from_millis(500);

/// The last validity that the holder of a lease was told.
pub(crate) struct Promised {
    /// On the client's clock.
    pub(crate) until: Moment,
    pub(crate) validity: Duration,
    /// The total pause of its process at that time.
    pub(crate) paused: Duration,
    /// The epochs of the client's nodes when it got the lease.
    pub(crate) epochs: Box<[u32]>,
}

impl History {
    /// Lease `number` was extended.
    pub(crate) fn prolonged(&self, number: usize) {
        let Some(handle) = self.handle(number) else {
            return;
        };
        let validity = self.world.observing(|| handle.validity());
        let mut guard = self.lock();
        let inner = &mut *guard;
        let lease = &mut inner.leases[number];
        let now = inner.calls[lease.call].clock.moment_at(self.world.now());
        let until = now.saturating_add(validity);
        if until > lease.promised.until {
            lease.promised.until = until;
            lease.promised.validity = validity;
            lease.promised.paused = self.world.paused_for(lease.process);
        }
    }

    /// Checks the end `over` of lease `number`, of which its holder learns now.
    pub(super) fn check_ending(&self, number: usize, over: &LeaseEnd, epochs: &[u32]) {
        let broken = {
            let inner = self.lock();
            let lease = &inner.leases[number];
            if lease.left_at.is_some() {
                return;
            }
            let call = &inner.calls[lease.call];
            let promised = &lease.promised;
            let at = |common| call.clock.moment_at(common);
            match over {
                _ if over.is_end_of_validity()
                    && at(self.world.now()).saturating_add(SLACK) < promised.until =>
                {
                    Some("has expired, before it was to")
                }
                _ if over.is_end_of_validity() => {
                    let stood = self.world.paused_for(lease.process);
                    let stood = stood.saturating_sub(promised.paused);
                    let is_renewed = call.request.max_hold == MaxHold::Unlimited
                        && promised.validity >= LONG
                        && stood < promised.validity / 20;
                    let since = promised.until.saturating_sub(promised.validity / 2);
                    let mut extensions = inner.attempts[lease.attempt].extensions.iter();
                    let was_tried = extensions.any(|extension| at(extension.sent_at) >= since);
                    (is_renewed && !was_tried).then_some("has expired, and was not renewed")
                }
                // Where time passed behind its last look at the votes, they may have changed then.
                LeaseEnd::Forgotten => (call.is_prompt && *promised.epochs == *epochs)
                    .then_some("is over, and no node has forgotten anything"),
                // See `given_up`.
                LeaseEnd::Taken(_) => None,
                _ => Some("is over, and nobody has ended it"),
            }
            .map(|text| format!("{} {text}", lease.handle.token_id()))
        };
        self.violated_all(broken.map(|text| (Invariant::Uncaused, text)));
    }

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
                    && seat.restored.is_none()
                    && !seat.is_excused
                    && server.has(&lease.resource, &attempt.token)
            };
            let seats: Vec<_> = servers.iter().filter(has_had_it).map(|s| s.seat).collect();
            let is_majority = seats.len() > self.rules.nodes / 2;
            let id = &attempt.short_id;
            is_majority.then(|| format!("{id} is given up, and the nodes {seats:?} have its key"))
        };
        self.violated_all(broken.map(|text| (Invariant::GivenUp, text)));
    }
}
