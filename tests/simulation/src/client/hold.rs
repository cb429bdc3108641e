//! The use of a lease by a client, and the ways to end it.

use std::time::Duration;

use redlock_core::env::Clock as _;
use redlock_core::error::LeaseEnd;
use redlock_core::internal::revoke_and_release;
use redlock_core::lease::Released;
use redlock_core::testing::permit_key;
use redlock_core::{Lease, LeaseHandle, Request, Resource};

use super::SimulatedClient;
use crate::profile::DEFAULT_NODE_TIMEOUT;
use crate::random::Random;

impl SimulatedClient {
    /// Holds a lease for a while, uses it, and ends it in one of the ways that there are.
    pub(super) async fn hold(
        &self,
        lease: Lease,
        number: usize,
        request: &Request,
        random: &mut Random,
    ) {
        let ttl = request.ttl;
        let micros = u64::try_from(ttl.as_micros()).unwrap_or(u64::MAX);
        let is_brief = random.chance(self.settings.crowd.alike);
        if is_brief {
            self.sleep(random.micros(0, random.clone().pick(&[100, 3000, 100_000])))
                .await;
        }
        for _ in 0..if is_brief { 0 } else { random.below(5) } {
            self.look(number);
            match random.below(6) {
                0 | 1 => self.sleep(random.micros(0, micros / 2)).await,
                2 | 3 => self.extend(&lease, number, ttl, random).await,
                4 => drop(lease.join()),
                _ => {
                    let limit = Some(random.micros(0, micros));
                    self.within(limit, lease.lost()).await;
                    self.look(number);
                }
            }
        }
        self.look(number);
        let over = lease.over();
        self.history.count(|coverage| match &over {
            Some(over) if over.is_end_of_validity() => coverage.expired += 1,
            Some(LeaseEnd::Taken(_)) => coverage.taken += 1,
            Some(LeaseEnd::Forgotten) => coverage.forgotten += 1,
            _ => {}
        });
        let left = (random.below(4) == 0).then(|| lease.handle());
        self.end(lease, number, request, random).await;
        if let Some(left) = left {
            self.use_after_the_end(&left, number, random).await;
        }
    }

    fn look(&self, number: usize) {
        self.history.look(number, &self.epochs());
    }

    /// Ends a lease in one of the ways that there are.
    async fn end(&self, lease: Lease, number: usize, request: &Request, random: &mut Random) {
        let ttl = request.ttl;
        let (id, resource) = (lease.token_id().to_owned(), keys_of(&lease));
        let (began, paused) = (self.clock.now(), self.world.paused_for(self.id));
        let way = random.below(12);
        if way == 6 {
            // Until it is over, or for long where it is renewed.
            self.within(Some(ttl * 3), lease.lost()).await;
            self.look(number);
            self.sleep(random.micros(0, 10_000)).await;
            self.look(number);
        }
        let how = if matches!(way, 7 | 9) {
            LeaseEnd::Revoked
        } else {
            LeaseEnd::Released
        };
        self.history.leaving(number, how);
        match way {
            0..=3 | 8 => {
                let released = lease.release().await;
                self.released(released, &id, &resource, number);
                self.check_settled("a release", began, paused, DEFAULT_NODE_TIMEOUT);
            }
            4 => {
                let limit = Some(random.micros(0, 5000));
                self.within(limit, lease.release()).await;
            }
            7 => {
                let released = revoke_and_release(&lease).await;
                self.released(released, &id, &resource, number);
            }
            9 => {
                let limit = Some(random.micros(1, 5000));
                self.within(limit, revoke_and_release(&lease)).await;
            }
            _ => {
                self.history.count(|coverage| coverage.dropped += 1);
                drop(lease);
            }
        }
    }

    /// Uses a handle whose lease is over. This has no effect, also if another client has the lock by now.
    async fn use_after_the_end(&self, left: &LeaseHandle, number: usize, random: &mut Random) {
        self.look(number);
        for _ in 0..2 {
            let extended = left.extend(Duration::from_millis(500)).await;
            if extended.is_ok() || revoke_and_release(left).await != Released::NotLast {
                self.history.revived(number);
            }
            left.recheck();
            self.sleep(random.micros(0, 3000)).await;
            self.look(number);
        }
    }

    async fn extend(&self, lease: &Lease, number: usize, ttl: Duration, random: &mut Random) {
        let half = 10.max(u64::try_from(ttl.as_millis()).unwrap_or(10) / 2);
        let ttl = Duration::from_millis(half + random.below(half + 1)).min(self.settings.max_ttl);
        let limit = (random.below(6) == 0).then(|| random.micros(0, 20_000));
        let (began, paused) = (self.clock.now(), self.world.paused_for(self.id));
        let sent = self.world.now();
        let extended = self.within(limit, lease.extend(ttl)).await;
        if let Some(Ok(())) = extended {
            self.history.extended(number, sent);
        }
        self.check_settled("an extension", began, paused, DEFAULT_NODE_TIMEOUT);
        self.history.note(22, [self.id as u64, 0], || {
            format!(
                "c{} extends {} by {ttl:?}: {extended:?}",
                self.id,
                lease.token_id()
            )
        });
        self.history.count(|coverage| match extended {
            Some(Ok(())) => coverage.extended += 1,
            _ => coverage.extension_failed += 1,
        });
    }

    fn released(&self, released: Released, id: &str, resource: &Resource, number: usize) {
        self.history.note(23, [self.id as u64, number as u64], || {
            format!("c{} releases {id}: {released:?}", self.id)
        });
        self.history.count(|coverage| match released {
            Released::Unconfirmed => coverage.unconfirmed += 1,
            Released::HandedOver => coverage.handed_over += 1,
            _ => {}
        });
        if released != Released::Confirmed {
            return;
        }
        self.history.count(|coverage| coverage.released += 1);
        if let Some(token) = self.history.token_of(number) {
            let holders = self.servers.iter().filter(|server| {
                server.holds(resource, &token) && !self.history.may_linger(server.seat, &token)
            });
            self.history.check_free(id, holders.count());
        }
    }
}

/// Returns the keys that the lease has on the nodes.
fn keys_of(lease: &LeaseHandle) -> Resource {
    let resource = lease.resource();
    let permit = lease.permit();
    permit.map_or_else(|| resource.clone(), |it| permit_key(resource, b"", it))
}
