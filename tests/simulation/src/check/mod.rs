//! The rules, as far as they are about single moments: an operation that a node served, a lease
//! that a client was handed, a write that the store took.

use std::sync::Arc;
use std::time::Duration;

use redlock_core::{Clock as _, Lease, Operation, OwnerToken, Request, Resource, Want};

use crate::clock::SkewedClock;
use crate::history::{History, Inner, Invariant, LeaseRecord, Served};
use crate::world::ProcessId;

type Broken = Vec<(Invariant, String)>;

impl History {
    /// What an operation may do to keys and counters.
    pub(crate) fn check_served(served: &Served<'_>) -> Broken {
        let (operation, seat) = (served.operation, served.seat);
        let token = operation.token().as_bytes();
        let (id, want) = (operation.token().short_id(), operation.want());
        let mut broken = Broken::new();
        for (before, after) in served.before.iter().zip(&served.after) {
            if before == after {
                continue;
            }
            let was_ours = before.as_deref() == Some(token);
            let is_ours = after.as_deref() == Some(token);
            let (invariant, may) = match want {
                Want::Acquire { .. } => {
                    let gives_way = operation.predecessor().map(OwnerToken::as_bytes);
                    let was_free = before.is_none() || before.as_deref() == gives_way;
                    (Invariant::ForeignChange, was_free && is_ours)
                }
                Want::Restore { .. } => (Invariant::ForeignChange, before.is_none() && is_ours),
                Want::Release { .. } => (Invariant::ForeignRelease, was_ours && after.is_none()),
                _ => (Invariant::ForeignChange, false),
            };
            if !may {
                let text = format!("n{seat} changed a key that is not {id}'s, for {want:?}");
                broken.push((invariant, text));
            }
        }
        let lowered = served.counted.iter().zip(&served.counts);
        if lowered.clone().any(|(before, after)| after < before) || served.is_shortened {
            let text = format!("n{seat} lowered a counter or a time to live, for {id} {want:?}");
            broken.push((Invariant::ForeignChange, text));
        }
        broken
    }

    /// Nobody holds a lock any more that gives way to an acquisition.
    pub(crate) fn check_predecessor(
        &self,
        process: ProcessId,
        operation: &Operation,
    ) -> Option<(Invariant, String)> {
        let predecessor = operation.predecessor()?;
        let handles: Vec<_> = {
            let inner = self.lock();
            let is_its = |lease: &&LeaseRecord| {
                *inner.attempts[lease.attempt].token == *predecessor.as_bytes()
            };
            let leases = inner.leases.iter().filter(is_its);
            leases.map(|lease| lease.handle.clone()).collect()
        };
        let mut handles = handles.iter();
        let is_held = handles.any(|handle| self.world.observing(|| handle.over().is_none()));
        is_held.then(|| {
            let (id, before) = (operation.token().short_id(), predecessor.short_id());
            let text = format!("c{process} has {id} succeed {before}, which is still held");
            (Invariant::HandedOverAlive, text)
        })
    }

    /// A client was handed a lease. Returns its number.
    pub fn acquired(
        &self,
        process: ProcessId,
        clock: &SkewedClock,
        request: &Request,
        lease: &Lease,
    ) -> usize {
        let now = self.world.now();
        let (validity, held_for, over) = self
            .world
            .observing(|| (lease.validity(), lease.held_for(), lease.over()));
        let token = lease.fencing_token().map(u64::from);
        let id = lease.token_id().to_owned();
        self.note(7, [process as u64, token.unwrap_or(0)], || {
            format!(
                "c{process} HOLDS {:?} as {id} for {validity:?}, token {token:?}{}",
                request.resource,
                over.map_or(String::new(), |over| format!(", but {over}")),
            )
        });
        // The formula of the specification, written down a second time.
        let allowed =
            (request.ttl.as_secs_f64() * (1.0 - request.clock_drift_factor) - 0.002).max(0.0);
        let allowed = Duration::from_secs_f64(allowed) + Duration::from_micros(1);
        let mut broken = Broken::new();
        if validity + held_for > allowed && !validity.is_zero() {
            let text = format!("{id} is valid for {validity:?} after {held_for:?} of {allowed:?}");
            broken.push((Invariant::Validity, text));
        }
        let number = {
            let mut inner = self.lock();
            inner.coverage.acquired += 1;
            inner.coverage.acquired_fenced += u64::from(token.is_some());
            inner.coverage.acquired_several += u64::from(request.resource.names().len() > 1);
            inner.coverage.born_over += u64::from(over.is_some());
            let Some(attempt) = inner.attempt_named(process, &id) else {
                return usize::MAX;
            };
            inner.leases.push(LeaseRecord {
                process,
                attempt,
                handle: lease.handle(),
                resource: request.resource.clone(),
                token,
                returned_at: now,
                was_over: over.is_some(),
                is_abandoned: false,
            });
            let number = inner.leases.len() - 1;
            let began = clock.moment_at(now).saturating_sub(held_for);
            let last = clock.common_time(began.saturating_add(allowed));
            let attempt = &inner.attempts[attempt];
            let in_time = attempt.votes.iter().filter(|vote| **vote <= last).count();
            if in_time <= self.rules.nodes / 2 {
                let text = format!("{id} was over when it had its majority of votes");
                broken.push((Invariant::LateVotes, text));
            }
            if began > clock.moment_at(attempt.staked_at) {
                let text = format!("{id} counts its validity from after its first request");
                broken.push((Invariant::Validity, text));
            }
            inner.check_tokens(number, &mut broken);
            number
        };
        if self.rules.exclusion && over.is_none() {
            self.check_exclusion(number, &mut broken);
        }
        for (invariant, text) in broken {
            self.violated(invariant, text);
        }
        number
    }

    /// Validity has no gaps and never comes back, so two leases were valid at once if and only if
    /// the earlier one is valid when the later one begins: which is now.
    fn check_exclusion(&self, number: usize, broken: &mut Broken) {
        let others: Vec<_> = {
            let inner = self.lock();
            let resource = inner.leases[number].resource.clone();
            let others = inner.leases.iter().enumerate();
            others
                .filter(|(other, lease)| *other != number && share(&lease.resource, &resource))
                .map(|(_, lease)| (lease.process, lease.handle.clone()))
                .collect()
        };
        for (process, handle) in others {
            let (over, validity) = self.world.observing(|| (handle.over(), handle.validity()));
            if over.is_none() {
                let text = format!(
                    "{} of c{process} is valid for {validity:?} more",
                    handle.token_id()
                );
                broken.push((Invariant::Exclusion, text));
            }
        }
    }

    /// The holder of lease `number` looks at it. What was over once stays over.
    pub fn look(&self, number: usize) {
        let Some(handle) = self
            .lock()
            .leases
            .get(number)
            .map(|lease| lease.handle.clone())
        else {
            return;
        };
        let is_over = self.world.observing(|| handle.over()).is_some();
        let was_over = {
            let mut inner = self.lock();
            let lease = &mut inner.leases[number];
            let was_over = lease.was_over;
            lease.was_over |= is_over;
            was_over
        };
        if was_over && !is_over {
            let text = format!("{} was over, and is valid again", handle.token_id());
            self.violated(Invariant::Revived, text);
        }
    }

    /// An extension of lease `number` that began at `began` succeeded, which is to prove that nobody
    /// else has held the lock since it was acquired; whatever clocks and operators did.
    pub fn extended(&self, number: usize, began: Duration) {
        let broken = {
            let inner = self.lock();
            let Some(lease) = inner.leases.get(number) else {
                return;
            };
            let is_between = |other: &LeaseRecord| {
                lease.returned_at < inner.attempts[other.attempt].staked_at
                    && other.returned_at < began
                    && share(&other.resource, &lease.resource)
            };
            let other = inner.leases.iter().find(|other| is_between(other));
            other.map(|other| {
                let (id, other) = (lease.handle.token_id(), other.handle.token_id());
                format!("{id} was extended, and {other} has held the lock meanwhile")
            })
        };
        if let Some(text) = broken {
            self.violated(Invariant::Interrupted, text);
        }
    }

    /// The holder of lease `number` leaves it to its ttl.
    pub fn abandoned(&self, number: usize) {
        let mut inner = self.lock();
        inner.coverage.abandoned += 1;
        if let Some(lease) = inner.leases.get_mut(number) {
            lease.is_abandoned = true;
        }
    }

    /// A client has looked whether nodes still vouch for `lease`, which is valid: so many in fact do
    /// that are in one of `epochs`, by seat.
    pub(crate) fn check_vouched(&self, process: ProcessId, id: &str, epochs: &[u32]) {
        let vouched = {
            let inner = self.lock();
            let Some(attempt) = inner.attempt_named(process, id) else {
                return;
            };
            let seats = inner.attempts[attempt].seats.iter().zip(epochs);
            seats
                .filter(|(seat, epoch)| seat.epoch == Some(**epoch))
                .count()
        };
        if vouched <= self.rules.nodes / 2 {
            let text = format!("{id} of c{process} goes on with {vouched} nodes that may know it");
            self.violated(Invariant::Unvouched, text);
        }
    }

    /// Everybody is done: whatever reached a node was released, unless it was left to its ttl.
    pub fn check_all_released(&self) {
        let unreleased = {
            let inner = self.lock();
            let was_left = |number: usize| {
                let mut leases = inner.leases.iter();
                leases.any(|lease| lease.attempt == number && lease.is_abandoned)
            };
            let attempts = inner.attempts.iter().enumerate();
            let mut unreleased = attempts.filter(|(number, attempt)| {
                let was_served = attempt.seats.iter().any(|seat| seat.asked > 0);
                was_served && attempt.released_at.is_none() && !was_left(*number)
            });
            unreleased
                .next()
                .map(|(_, attempt)| attempt.short_id.clone())
        };
        if let Some(id) = unreleased {
            self.violated(Invariant::Leftover, format!("{id} was never released"));
        }
    }

    /// The store of `resource` is asked to take a write of lease `number`, and does unless it has
    /// seen a higher token.
    pub fn write(&self, number: usize) {
        let mut broken = None;
        let is_taken = {
            let mut guard = self.lock();
            let inner = &mut *guard;
            let Some(lease) = inner.leases.get(number) else {
                return;
            };
            let (Some(key), Some(_)) = (lease.resource.names().next(), lease.token) else {
                return; // Without a token, a store has nothing to go by.
            };
            let writers = inner.writers.entry(key.to_vec()).or_default();
            let highest = writers
                .iter()
                .filter_map(|writer| inner.leases[*writer].token)
                .max();
            let is_taken = lease.token >= highest;
            if is_taken {
                let began = |lease: &LeaseRecord| inner.attempts[lease.attempt].staked_at;
                let later = writers.iter().map(|writer| &inner.leases[*writer]);
                if let Some(later) = later
                    .into_iter()
                    .find(|later| lease.returned_at < began(later))
                {
                    broken = Some(format!(
                        "the store took {:?} behind {:?}, whose holder came later",
                        lease.token, later.token
                    ));
                }
                writers.push(number);
                inner.coverage.written += 1;
            } else {
                inner.coverage.fenced_off += 1;
            }
            is_taken
        };
        self.note(8, [number as u64, u64::from(is_taken)], || {
            format!("store: write of lease {number}, taken: {is_taken}")
        });
        if let Some(text) = broken {
            self.violated(Invariant::StoreOrder, text);
        }
    }

    /// A release was confirmed: at most a minority may hold the key.
    pub fn check_free(&self, id: &str, holders: usize) {
        if holders > self.rules.nodes - (self.rules.nodes / 2 + 1) {
            let text = format!("{id} is on {holders} nodes after its release was confirmed");
            self.violated(Invariant::FalselyConfirmed, text);
        }
    }

    /// A call came back after `took`, or has been out for so long.
    pub fn check_settled(&self, what: &str, took: Duration, bound: Duration) {
        if took > bound {
            self.violated(
                Invariant::Settles,
                format!("{what} took {took:?}, more than {bound:?}"),
            );
        }
    }
}

impl Inner {
    /// Tokens are unique, and higher for the later one of two leases. Which one that is, is told
    /// by the client where the one was returned before the other's attempt began; and by every
    /// node that stood at both tokens, where the one that it granted first has to have the lower.
    fn check_tokens(&self, number: usize, broken: &mut Broken) {
        let new = &self.leases[number];
        let Some(token) = new.token else {
            return;
        };
        let attempt = &self.attempts[new.attempt];
        for (other, known) in self.leases.iter().enumerate() {
            let Some(other_token) = known.token else {
                continue;
            };
            if other == number || !share(&known.resource, &new.resource) {
                continue;
            }
            let (id, other_id) = (new.handle.token_id(), known.handle.token_id());
            if other_token == token {
                let text = format!("{id} and {other_id} both have {token}");
                broken.push((Invariant::TokenUnique, text));
            }
            if known.returned_at < attempt.staked_at && other_token > token {
                let text = format!("{id} has {token} after {other_id} had {other_token}");
                broken.push((Invariant::TokenOrder, text));
            }
            let seats = attempt
                .seats
                .iter()
                .zip(&self.attempts[known.attempt].seats);
            for (place, (one, two)) in seats.enumerate() {
                let (Some(at), Some(before)) = (one.granted, two.granted) else {
                    continue;
                };
                let stood = one.stands == Some(token) && two.stands == Some(other_token);
                if stood && (before < at) != (other_token < token) {
                    let text = format!(
                        "n{place} stood at {other_token} for {other_id} and {token} for {id}, in \
                         the other order"
                    );
                    broken.push((Invariant::TokenOrder, text));
                }
            }
        }
    }
}

/// Whether they have a name in common.
pub(crate) fn share(one: &Resource, two: &Resource) -> bool {
    one.names()
        .any(|name| two.names().any(|other| name == other))
}

/// For calls whose bound is on a client's clock.
pub(crate) fn since(clock: &Arc<SkewedClock>, then: redlock_core::Moment) -> Duration {
    clock.now().saturating_since(then)
}
