//! Permits: at most n clients hold a resource, each by a majority.
#![doc = include_str!("permits.md")]

pub(crate) mod scripts;
#[cfg(test)]
mod tests;

use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher as _;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::kinds::exclusive::{self, Exclusive, read_done};
use crate::kinds::protocol_args::ProtocolArgs;
use crate::model::invalid::Invalid;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::hash_slot::{AuxiliaryKeys, auxiliary_key};
use crate::node::{Argument, Call, Effect, Holding, Obstacle, Value, Vote};
use crate::quorum::lock_protocol::{LinePlace, LockProtocol, TurnRule};

use scripts::{ACQUIRE_PERMIT, LEAVE_QUEUE, SERVED, STREAK, WAITS};

/// The beginning of each permit's key after `redlock:`. The first permit has the plain key instead.
pub(super) const PERMITS: &[u8] = b"permit:";
/// The beginning of a queue's key after `redlock:`.
pub(super) const QUEUES: &[u8] = b"queue:";

/// The largest number of permits of a resource. A server looks at all permits in one script, and serves no other client
/// while the script runs.
pub const MAX_PERMITS: u16 = 256;

/// The protocol for acquiring any permit of a resource.
pub(crate) struct AnyPermit {
    /// Builds the calls on all permits at once.
    all: Exclusive,
    /// The key of each permit, by its number.
    keys: Vec<Arc<[u8]>>,
    /// The key of the queue, which lists the waiting clients.
    queue: Arc<[u8]>,
    /// The token that names the client in the queue. `None` if the request allows no retry.
    client: Option<OwnerToken>,
    /// The time for which the client waits in the queue after a refusal.
    advice: Duration,
    /// The time that the client has to ask once a permit is free for it.
    call: Duration,
    /// The caller's place in its line, at its last attempt.
    place: Mutex<LinePlace>,
}

impl AnyPermit {
    /// Returns the protocol for any of `count` permits.
    pub(super) fn new(count: u16, args: &ProtocolArgs<'_>) -> Self {
        let plain = args.keys.names().next().unwrap_or_default();
        let keys = keys_of(args.keys, count, args.prefix);
        Self {
            all: Exclusive::plain(Resource::of(keys.clone())),
            keys,
            queue: auxiliary_key(plain, args.prefix, &numbered(QUEUES, count)).into(),
            client: args.advice.map(|advice| advice.client.clone()),
            advice: args.advice.map_or(Duration::ZERO, |advice| advice.lasts),
            call: args.advice.map_or(Duration::ZERO, |advice| advice.call),
            place: Mutex::default(),
        }
    }

    /// Returns the keys in the order in which every node tries them. The order follows from the random part of `token`,
    /// so attempts at one moment mostly begin with different permits. The hash has no random seed, so a seed of the
    /// simulation gives the same run in each process.
    fn order(&self, token: &OwnerToken) -> Vec<Arc<[u8]>> {
        let mut drawn = DefaultHasher::new();
        drawn.write(token.short_id().as_bytes());
        let mut keys = self.keys.clone();
        keys.sort_by_cached_key(|key| {
            let mut drawn = drawn.clone();
            drawn.write(key);
            drawn.finish()
        });
        keys
    }

    /// Returns the call that removes the client from the queue.
    fn leave_call(&self, effect: Effect) -> Option<Call> {
        let (client, queue) = (self.client.as_ref()?, Arc::clone(&self.queue));
        let leave = Call::in_order(&LEAVE_QUEUE, effect, [queue], read_done);
        Some(leave.with([Argument::token(client)]))
    }
}

impl LockProtocol for AnyPermit {
    fn keys(&self) -> &Resource {
        self.all.keys()
    }

    fn acquire_call(&self, token: &OwnerToken, ttl: Duration, _hint: u64) -> Call {
        let place = *self.place.lock();
        // A client with all permits waits only for itself, so it needs no place.
        let has_all = place.permits_held >= self.keys.len();
        let advice = if has_all { Duration::ZERO } else { self.advice };
        let [ttl, advice, call] = [ttl, advice, self.call].map(Argument::millis);
        // The name is empty for a client that never waits.
        let name = self.client.as_ref();
        let name = name.map_or_else(|| Argument::text(""), Argument::token);
        let waits = place.was_refused.then_some(WAITS);
        let standing = place.is_in_streak.then_some(STREAK).or(waits);
        Call::in_order(
            &ACQUIRE_PERMIT,
            Effect::Takes,
            self.order(token),
            read_permit,
        )
        .with_keys([Arc::clone(&self.queue)])
        .with([Argument::token(token), ttl, advice, name, call])
        .with(standing.map(Argument::text))
    }

    fn extend_call(&self, token: &OwnerToken, ttl: Duration) -> Call {
        self.all.extend_call(token, ttl)
    }

    fn restore_call(&self, token: &OwnerToken, ttl: Duration) -> Call {
        self.all.restore_call(token, ttl)
    }

    fn release_call(&self, token: &OwnerToken, until: Duration, is_lease: bool) -> Call {
        self.all.release_call(token, until, is_lease)
    }

    fn served_call(&self) -> Option<Call> {
        let place = *self.place.lock();
        let may_wait = place.was_refused && !place.is_in_streak;
        let leave = self.leave_call(Effect::Keeps).filter(|_| may_wait)?;
        Some(leave.with([Argument::text(SERVED)]))
    }

    fn prepare_attempt(&self, place: LinePlace) {
        *self.place.lock() = place;
    }

    fn withdraw_call(&self, is_kept: bool) -> Option<Call> {
        // A winner keeps its place, because the granting nodes have moved it to the end.
        let leave = self.leave_call(Effect::Undoes(self.advice));
        leave.filter(|_| !is_kept)
    }

    fn auxiliary_keys(&self) -> Vec<AuxiliaryKeys> {
        let last = self.keys.last().cloned();
        vec![AuxiliaryKeys {
            keys: Resource::of(last),
            parameter: "`permits`",
            key: "key of a permit",
        }]
    }

    fn turn_rule(&self) -> TurnRule {
        // The next caller may get another permit.
        TurnRule::PassOn
    }

    fn permits(&self) -> Option<u16> {
        u16::try_from(self.keys.len()).ok()
    }

    fn choose_permit(&self, token: &OwnerToken, place: u16) -> Option<Arc<dyn LockProtocol>> {
        let key = self.order(token).into_iter().nth(place.into())?;
        let number = self.keys.iter().position(|it| *it == key)?;
        let number = u16::try_from(number).ok()?;
        let one = Exclusive::plain(Resource::of(vec![key]));
        Some(Arc::new(one.one_of(self.keys().clone(), number)))
    }

    /// Returns the key of each permit. A caller needs a majority of nodes on which the same permit is free.
    fn watched_keys(&self) -> Vec<Resource> {
        let each = self.keys.iter();
        each.map(|key| Resource::of(vec![Arc::clone(key)]))
            .collect()
    }

    /// Returns the number of nodes without a free permit for the caller. A node that granted another permit than most
    /// had a free one.
    fn most_rival_votes(&self, votes: &[Option<Vote>]) -> usize {
        let holdings = votes.iter().flatten().filter_map(Vote::holding);
        holdings.filter(|holding| !holding.has_strayed).count()
    }
}

/// Reads the script's reply: the taken key's index, from 1; -1 if others go first; or the refusal of a plain lock.
fn read_permit(value: Value, _call: &Call) -> Option<Vote> {
    match value {
        Value::Int(-1) => Some(Vote::Held(Holding::advice(Obstacle::EarlierClients, None))),
        Value::Int(place @ 1..) => {
            let place = u16::try_from(place - 1).ok()?;
            Some(Vote::granted(None, Some(place)))
        }
        refusal => exclusive::read_taken(refusal),
    }
}

/// Returns the key of a permit, with the key prefix `prefix`. The first permit has the key of the plain lock, so a
/// plain lock counts as a holder.
#[cfg(any(test, feature = "testing"))]
pub fn key_of(key: &Resource, prefix: &[u8], permit: u16) -> Resource {
    let plain = key.names().next().unwrap_or_default();
    Resource::all([name_of(plain, permit, prefix)])
}

/// Returns the keys of `count` permits of the lock `key`, with the key prefix `prefix`.
pub(super) fn keys_of(key: &Resource, count: u16, prefix: &[u8]) -> Vec<Arc<[u8]>> {
    let plain = key.names().next().unwrap_or_default();
    let keys = (0..count).map(|permit| name_of(plain, permit, prefix).into());
    keys.collect()
}

fn name_of(plain: &[u8], permit: u16, prefix: &[u8]) -> Vec<u8> {
    if permit == 0 {
        return plain.to_vec();
    }
    auxiliary_key(plain, prefix, &numbered(PERMITS, permit))
}

/// Returns the beginning of a key: `kind`, then `number`.
fn numbered(kind: &[u8], number: u16) -> Vec<u8> {
    [kind, number.to_string().as_bytes(), b":"].concat()
}

/// Checks a request for one of `count` permits.
pub(super) fn check(
    count: u16,
    resource: &Resource,
    has_fencing: bool,
    once_per: Option<Duration>,
) -> Result<(), Invalid> {
    if count == 1 {
        return Ok(());
    }
    if count == 0 {
        return Err(Invalid::new(
            "`permits` of 0 lets nobody in; give it a number from 1 on",
        ));
    }
    if count > MAX_PERMITS {
        return Err(Invalid::new(format!(
            "`permits` of {count} is more than {MAX_PERMITS}; a server looks at all \
             permits at once, so spread more holders over several resources",
        )));
    }
    if resource.names().len() > 1 {
        return Err(Invalid::new(format!(
            "`permits` with several resources, `{resource}`: all or none of several sets of permits cannot \
             be taken at once; lock one of them, or leave `permits` out",
        )));
    }
    if has_fencing {
        return Err(Invalid::new(
            "`fencing` with `permits`: a store that compares tokens needs one holder at a time; leave \
             `permits` out, write `fencing = false`, or lock one resource for each slot",
        ));
    }
    if once_per.is_some() {
        return Err(Invalid::new(
            "`once_per` with `permits`: several holders at a time would each run the job; leave one \
             of the two out",
        ));
    }
    Ok(())
}
