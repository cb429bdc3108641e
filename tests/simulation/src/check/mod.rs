//! The rules, as far as they are about single moments: an operation that a node served, a lease
//! that a client was handed.

mod ending;
mod exclusion;
mod handover;
mod line;
mod served;
mod sharing;
mod starved;
mod strayed;
mod tokens;
mod told;
mod woken;

use std::sync::Arc;
use std::time::Duration;

use redlock_core::env::Clock as _;
use redlock_core::error::LeaseEnd;
use redlock_core::request::Kind;
use redlock_core::{Lease, Request};

use crate::clock::{EPOCH, SkewedClock};
use crate::coverage::Coverage;
use crate::history::{Attempt, History, Inner, Invariant, LeaseRecord, Seat, on_clock};
use crate::operation::is_shared;
use crate::profile::DEFAULT_NODE_TIMEOUT;
use crate::world::{CallId, ProcessId};

pub(crate) use ending::Promised;
pub(crate) use handover::Chain;
pub(crate) use line::LONGEST_BREAK;
pub(crate) use starved::Wait;

pub(crate) type Broken = Vec<(Invariant, String)>;

/// Returns what is added about a lease that is over.
fn but(over: Option<&LeaseEnd>) -> String {
    over.map_or(String::new(), |over| format!(", but {over}"))
}

impl History {
    /// `call` was handed a lease by a client whose nodes are in `epochs`. Returns its number.
    pub fn acquired(&self, call: CallId, lease: &Lease, epochs: &[u32]) -> usize {
        let now = self.world.now();
        let look = || (lease.validity(), lease.held_for(), lease.over());
        // A writer's renewal may have extended it while the writer took its intent back.
        let is_extended = lease.kind() == Kind::Write && lease.extensions() > 0;
        let (validity, held_for, over) = self.world.observing(look);
        let token = lease.fencing_token().map(u64::from);
        let id = lease.token_id().to_owned();
        let (process, request, clock) = {
            let call = &self.lock().calls[call];
            (call.line.0, call.request.clone(), Arc::clone(&call.clock))
        };
        self.note(7, [process as u64, token.unwrap_or(0)], || {
            format!(
                "c{process} HOLDS {:?} as {id} for {validity:?}, token {token:?}{}",
                request.resource,
                but(over.as_ref()),
            )
        });
        let allowed = allowed(request.ttl, request.clock_drift_factor) + Duration::from_micros(1);
        let mut broken = Broken::new();
        if validity + held_for > allowed && !validity.is_zero() && !is_extended {
            let text = format!("{id} is valid for {validity:?} after {held_for:?} of {allowed:?}");
            broken.push((Invariant::Validity, text));
        }
        let number = {
            let mut guard = self.lock();
            let inner = &mut *guard;
            count(&mut inner.coverage, lease, &request, over.is_some());
            let Some(attempt) = inner.attempt_named(process, &id) else {
                return usize::MAX;
            };
            let is_taken_over = inner.leases.iter().any(|known| known.attempt == attempt);
            let mut new = LeaseRecord {
                process,
                call,
                attempt,
                handle: lease.handle(),
                resource: request.resource.clone(),
                permit: lease.permit(),
                token,
                returned_at: now,
                chain: Chain::default(),
                promised: Promised {
                    until: clock.moment_at(now).saturating_add(validity),
                    validity,
                    paused: self.world.paused_for(process),
                    epochs: epochs.into(),
                },
                was_over: over.is_some(),
                ended: None,
                left_at: None,
            };
            self.check_granted(inner, &new, validity, &mut broken);
            new.chain = self.check_line(inner, &new, is_taken_over, &mut broken);
            self.check_starved(inner, &new, &mut broken);
            if let Some(line) = inner.queues.get_mut(&inner.calls[call].line) {
                line.held += 1;
            }
            inner.leases.push(new);
            let number = inner.leases.len() - 1;
            let began = clock.moment_at(now).saturating_sub(held_for);
            let last = clock.common_time(began.saturating_add(allowed));
            let is_prompt = inner.calls[call].is_prompt;
            let attempt = &mut inner.attempts[attempt];
            if attempt.made_by.is_none() {
                let stragglers = began.saturating_add(straggling(request.ttl));
                let made_by = clock.common_time(stragglers);
                // Where time passed behind the last look at the votes, some may have come behind it.
                let made_by = if is_prompt { made_by.max(now) } else { made_by };
                attempt.made_by = Some(made_by.saturating_sub(Duration::from_micros(1)));
            }
            let (in_time, strayed) = attempt.votes_for(lease.permit(), last);
            inner.coverage.strayed += strayed;
            if in_time <= self.rules.nodes / 2 {
                let text = format!("{id} was over when it had its majority of votes");
                broken.push((Invariant::LateVotes, text));
            }
            if began > clock.moment_at(attempt.staked_at) && !is_taken_over {
                let text = format!("{id} counts its validity from after its first request");
                broken.push((Invariant::Validity, text));
            }
            if request.fencing && token.is_none() {
                let text = format!("{id} has no token, and one was wanted");
                broken.push((Invariant::Unfenced, text));
            }
            inner.check_tokens(number, self.rules.exclusion, &mut broken);
            self.check_ahead(&id, token, &mut broken);
            number
        };
        if self.rules.exclusion && over.is_none() {
            self.check_exclusion(number, &mut broken);
        }
        let is_prompt = self.lock().calls[call].is_prompt;
        self.violated_all(broken);
        if is_prompt && over.is_none() {
            self.check_vouched(process, &id, epochs);
        }
        number
    }

    /// Returns the rules about the line of a caller that has its lease now. Readers and writers have none.
    fn check_line(
        &self,
        inner: &mut Inner,
        new: &LeaseRecord,
        is_taken_over: bool,
        broken: &mut Broken,
    ) -> Chain {
        if is_shared(inner.calls[new.call].request.kind) {
            return Chain::default();
        }
        let chain = self.check_chain(inner, new, broken);
        self.check_order(inner, new.call, broken);
        if is_taken_over {
            self.check_idle(inner, new.call, broken);
        }
        chain
    }

    fn check_ahead(&self, id: &str, token: Option<u64>, broken: &mut Broken) {
        let (Some(most), Some(token)) = (self.rules.most_ahead, token) else {
            return;
        };
        let latest = (EPOCH + self.world.now() + most).as_micros();
        if u128::from(token) > latest {
            let text = format!("the token {token} of {id} is above {latest}");
            broken.push((Invariant::TokenAhead, text));
        }
    }

    /// The holder of lease `number`, whose client's nodes are in `epochs`, looks at it. What was over
    /// once stays over.
    pub fn look(&self, number: usize, epochs: &[u32]) {
        let Some(handle) = self.handle(number) else {
            return;
        };
        let over = self.world.observing(|| handle.over());
        let was_over = {
            let mut inner = self.lock();
            let lease = &mut inner.leases[number];
            let was_over = lease.was_over;
            lease.was_over |= over.is_some();
            was_over
        };
        if let (false, Some(over)) = (was_over, &over) {
            self.check_ending(number, over, epochs);
        }
        if was_over && over.is_none() {
            let text = format!("{} was over, and is valid again", handle.token_id());
            self.violated(Invariant::Revived, text);
        }
    }

    /// A handle of lease `number`, which had ended, could still do something.
    pub fn revived(&self, number: usize) {
        let text = format!("lease {number} was ended, and a handle of it has an effect");
        self.violated(Invariant::Revived, text);
    }

    /// An extension of lease `number` that began at `began` succeeded. This must prove that no other
    /// client has held the lock since it was acquired, whatever clocks and operators did.
    pub fn extended(&self, number: usize, began: Duration) {
        let broken = {
            let inner = self.lock();
            let Some(lease) = inner.leases.get(number) else {
                return;
            };
            let call = &inner.calls[lease.call];
            let staked_at = inner.attempts[lease.attempt].staked_at;
            let is_between = |other: &LeaseRecord| {
                lease.returned_at < inner.attempts[other.attempt].staked_at
                    && other.returned_at < began
                    && !are_readers(lease, other)
                    && other.meets(lease)
                    // A grant that comes within the attempt's own timeout counts as if it had
                    // come with the others, also if keys are deleted by hand in that time.
                    && on_clock(&call.clock, staked_at, other.returned_at) > DEFAULT_NODE_TIMEOUT
            };
            let other = inner.leases.iter().find(|other| is_between(other));
            other.map(|other| {
                let (id, other) = (lease.handle.token_id(), other.handle.token_id());
                format!("{id} was extended, and {other} has held the lock meanwhile")
            })
        };
        self.violated_all(broken.map(|text| (Invariant::Interrupted, text)));
    }

    /// A client has checked whether nodes still vouch for the valid lease `id`. A node in fact vouches
    /// if its epoch is the one of its seat in `epochs`. Before the first extension these are the nodes
    /// whose grants the lease may rest on.
    pub(crate) fn check_vouched(&self, process: ProcessId, id: &str, epochs: &[u32]) {
        let vouched = {
            let inner = self.lock();
            let Some(attempt) = inner.attempt_named(process, id) else {
                return;
            };
            let mut leases = inner.leases.iter();
            let returned = leases.find(|lease| lease.attempt == attempt);
            let attempt = &inner.attempts[attempt];
            let until = returned.map(|lease| lease.returned_at).max(attempt.made_by);
            let until = until.map(|until| until.saturating_add(Duration::from_millis(1)));
            let counts = |seat: &Seat| !attempt.extensions.is_empty() || seat.heard_at <= until;
            let seats = attempt.seats.iter().zip(epochs);
            seats
                .filter(|(seat, epoch)| seat.epoch == Some(**epoch) && counts(seat))
                .count()
        };
        if vouched <= self.rules.nodes / 2 {
            let text = format!("{id} of c{process} goes on with {vouched} nodes that may know it");
            self.violated(Invariant::Unvouched, text);
        }
    }

    /// All clients have ended: each key that reached a node was released.
    pub fn check_all_released(&self) {
        let unreleased = {
            let inner = self.lock();
            let mut unreleased = inner.attempts.iter().filter(|attempt| {
                // Nodes that refused every permit get no release.
                let was_granted = attempt.seats.iter().any(|seat| seat.granted.is_some());
                was_granted && attempt.released_at.is_none()
            });
            unreleased.next().map(|attempt| attempt.short_id.clone())
        };
        if let Some(id) = unreleased {
            self.violated(Invariant::Leftover, format!("{id} was never released"));
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

/// Counts an acquisition that succeeded.
fn count(coverage: &mut Coverage, lease: &Lease, request: &Request, is_over: bool) {
    coverage.acquired += 1;
    coverage.acquired_fenced += u64::from(lease.fencing_token().is_some());
    coverage.acquired_permits += u64::from(lease.permit().is_some());
    coverage.acquired_several += u64::from(request.resource.names().len() > 1);
    coverage.born_over += u64::from(is_over);
}

impl Attempt {
    /// Returns how many votes came by `last` for this permit, if there is one, and how many for others.
    fn votes_for(&self, permit: Option<u16>, last: Duration) -> (usize, u64) {
        let votes = || self.votes.iter();
        let in_time = votes().filter(|(at, granted)| *at <= last && *granted == permit);
        let strayed = votes().filter(|(_, granted)| *granted != permit);
        (in_time.count(), strayed.count() as u64)
    }
}

fn are_readers(one: &LeaseRecord, other: &LeaseRecord) -> bool {
    [one, other]
        .iter()
        .all(|lease| lease.handle.kind() == Kind::Read)
}

/// Returns for how long a lock may be valid that is granted for `ttl`. The formula of the specification,
/// written down a second time.
fn allowed(ttl: Duration, factor: f64) -> Duration {
    Duration::from_secs_f64((ttl.as_secs_f64() * (1.0 - factor) - 0.002).max(0.0))
}

/// Returns for how long a grant that comes behind the decision counts like those before.
fn straggling(ttl: Duration) -> Duration {
    DEFAULT_NODE_TIMEOUT.min(ttl / 4)
}

/// For calls whose bound is on a client's clock.
pub(crate) fn since(clock: &Arc<SkewedClock>, then: redlock_core::env::Moment) -> Duration {
    clock.now().saturating_since(then)
}
