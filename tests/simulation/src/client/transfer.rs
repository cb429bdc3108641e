//! Locks that a simulated client gives away, and how the others claim them.

use std::sync::{Arc, Weak};
use std::time::Duration;

use redlock_core::env::Clock as _;
use redlock_core::error::LeaseEnd;
use redlock_core::request::Renewal;
use redlock_core::transfer::{ClaimError, Ticket};
use redlock_core::{Lease, Request};

use super::{SimulatedClient, grown};
use crate::profile::DEFAULT_NODE_TIMEOUT;
use crate::random::Random;

impl SimulatedClient {
    /// Gives a lock away. A few clients claim it by the same ticket, at about the same time or later.
    pub(super) fn give_away(
        &self,
        lease: Lease,
        number: usize,
        request: &Request,
        random: &mut Random,
    ) {
        self.history.leaving(number, LeaseEnd::Transferred);
        self.history.left_to_expire(number);
        let id = lease.token_id().to_owned();
        let given = lease.transfer();
        self.history.note(26, [self.id as u64, number as u64], || {
            format!("c{} gives {id} away: {given:?}", self.id)
        });
        let Ok(ticket) = given else {
            return;
        };
        self.history.count(|coverage| coverage.given_away += 1);
        let ticket = ticket.to_secret();
        let peers = self.peers.get().map(Vec::as_slice).unwrap_or_default();
        for _ in 0..=random.below(3) {
            let longest = random.pick(&[100, 5000, 200_000, 2_000_000]);
            let (delay, random) = (random.micros(0, longest), random.fork());
            let peer = &peers[random.clone().index(peers.len())];
            if let Some(peer) = peer.upgrade() {
                peer.claim_later(ticket.clone(), request.clone(), delay, random);
            }
        }
    }

    fn claim_later(
        self: &Arc<Self>,
        ticket: String,
        request: Request,
        delay: Duration,
        mut random: Random,
    ) {
        let me = Arc::clone(self);
        self.start(async move {
            me.sleep(delay).await;
            let ticket = ticket.parse().expect("it was made a moment ago");
            me.claim(ticket, request, &mut random).await;
        });
    }

    async fn claim(&self, ticket: Ticket, mut request: Request, random: &mut Random) {
        request.ttl = Duration::from_millis(10 + random.below(4000));
        request.min_validity = Duration::ZERO;
        request.min_hold = Duration::ZERO;
        request.renewal = random.pick(&[Renewal::Never, Renewal::Unlimited]);
        let whims = self.whims(random);
        let (began, paused) = (self.clock.now(), self.world.paused_for(self.id));
        let call = self.history.came_to_claim(self.id, &self.clock, &request);
        let work = Box::pin(self.client.claim(&self.nodes, ticket, &request));
        let claimed = self.polling(call, work, whims).await;
        let number = match &claimed {
            Some(Ok(lease)) => self.history.acquired(call, lease, &self.epochs()),
            _ => usize::MAX,
        };
        self.history.settled(call);
        let bound = DEFAULT_NODE_TIMEOUT.min(request.ttl / 4) * 3;
        let bound = bound + grown(self.history.stalled_for(call));
        self.check_settled("a claim", began, paused, bound);
        self.history.count(|coverage| match &claimed {
            Some(Ok(_)) => coverage.claimed += 1,
            Some(Err(ClaimError::Spent(_))) => coverage.spent += 1,
            _ => {}
        });
        match claimed {
            None => {}
            Some(Err(error)) => self.history.note(27, [self.id as u64, 0], || {
                format!("c{} claims nothing, call {call}: {error}", self.id)
            }),
            Some(Ok(lease)) => self.use_lease(lease, number, &request, random).await,
        }
    }

    /// Tells all `clients` of each other.
    pub(crate) fn introduce(clients: &[Arc<Self>]) {
        for client in clients {
            let peers = clients
                .iter()
                .map(Arc::downgrade)
                .collect::<Vec<Weak<Self>>>();
            assert!(
                client.peers.set(peers).is_ok(),
                "clients are introduced once"
            );
        }
    }
}
