//! Permits: at most n holders of one resource, each by a majority.
#![doc = include_str!("permits.md")]

pub(crate) mod scripts;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::hash::Hasher as _;
use std::io::Write as _;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::kinds::exclusive::Exclusive;
use crate::model::invalid::Invalid;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::hash_slot::{Beside, key_beside};
use crate::node::{Argument, Call, Choice, Effect, Holding, Remaining, Value, Vote};
use crate::quorum::kind::{Kind, TurnRule};
use crate::quorum::majority;

use scripts::ACQUIRE_PERMIT;

/// The beginning of the keys of permits, but for the first one, after `redlock:`.
pub(super) const PERMITS: &[u8] = b"permit:";

/// The most permits of a resource. A server looks at all of them in one script, and serves no other client
/// meanwhile.
pub const MAX_PERMITS: u16 = 256;

/// Any permit of a resource.
pub(crate) struct AnyPermit {
    /// All permits at once.
    all: Exclusive,
    /// The key of each permit, by its number.
    keys: Vec<Arc<[u8]>>,
    /// Permits that may be free: a majority called them free at the last attempt, or callers of this process
    /// released them since.
    preferred: Mutex<BTreeSet<u16>>,
}

impl AnyPermit {
    /// `count` permits of the lock key `key`, with `prefix`.
    pub(crate) fn new(key: &Resource, count: u16, prefix: &[u8]) -> Self {
        let plain = key.names().next().unwrap_or_default();
        let keys: Vec<Arc<[u8]>> = (0..count)
            .map(|permit| name_of(plain, permit, prefix).into())
            .collect();
        Self {
            all: Exclusive::plain(Resource::of(keys.clone())),
            keys,
            preferred: Mutex::default(),
        }
    }

    /// The keys in the order in which every node tries them: the preferred permits first, and the others in an order
    /// that follows from `token`. Attempts at one moment therefore begin with different permits.
    fn order(&self, token: &OwnerToken) -> Vec<Arc<[u8]>> {
        let preferred = mem::take(&mut *self.preferred.lock());
        let mut drawn = DefaultHasher::new();
        drawn.write(token.as_bytes());
        let mut permits: Vec<(u16, &Arc<[u8]>)> = (0..).zip(&self.keys).collect();
        permits.sort_by_cached_key(|(permit, _)| {
            let mut drawn = drawn.clone();
            drawn.write_u16(*permit);
            (!preferred.contains(permit), drawn.finish())
        });
        permits
            .into_iter()
            .map(|(_, key)| Arc::clone(key))
            .collect()
    }

    /// The number of the permit at `place` of the keys of `acquisition`.
    fn number_at(&self, acquisition: &Call, place: u16) -> Option<u16> {
        let key = acquisition.keys().nth(place.into())?;
        let number = self.keys.iter().position(|it| **it == *key)?;
        u16::try_from(number).ok()
    }
}

impl Kind for AnyPermit {
    fn keys(&self) -> &Resource {
        self.all.keys()
    }

    fn acquire(&self, token: &OwnerToken, ttl: Duration, _hint: u64) -> Call {
        Call::in_order(&ACQUIRE_PERMIT, Effect::Takes, self.order(token), taken)
            .with([Argument::token(token), Argument::millis(ttl)])
    }

    fn extend(&self, token: &OwnerToken, ttl: Duration) -> Call {
        self.all.extend(token, ttl)
    }

    fn restore(&self, token: &OwnerToken, ttl: Duration) -> Call {
        self.all.restore(token, ttl)
    }

    fn release(&self, token: &OwnerToken, until: Duration, is_lease: bool) -> Call {
        self.all.release(token, until, is_lease)
    }

    fn beside(&self) -> Vec<Beside> {
        let last = self.keys.last().cloned();
        vec![Beside {
            keys: Resource::of(last.into_iter().collect()),
            parameter: "`permits`",
            key: "key of a permit",
        }]
    }

    fn turn(&self) -> TurnRule {
        // There may be another permit for the next caller.
        TurnRule::PassOn
    }

    fn count(&self) -> Option<u16> {
        u16::try_from(self.keys.len()).ok()
    }

    fn chosen(&self, acquisition: &Call, place: u16) -> Option<Arc<dyn Kind>> {
        let number = self.number_at(acquisition, place)?;
        let key = Arc::clone(&self.keys[usize::from(number)]);
        let one = Exclusive::plain(Resource::of(vec![key]));
        Some(Arc::new(one.one_of(self.keys().clone(), number)))
    }

    fn learn(&self, acquisition: &Call, choices: &[Arc<Choice>], nodes: usize) {
        let free = free_at_majority(choices, nodes);
        let free = free.into_iter();
        let free = free.filter_map(|place| self.number_at(acquisition, place));
        *self.preferred.lock() = free.collect();
    }

    fn released(&self, mut numbers: BTreeSet<u16>) {
        self.preferred.lock().append(&mut numbers);
    }

    /// Each is watched by itself: a majority of the nodes with a free permit each need not have the same one.
    fn watched(&self) -> Vec<Resource> {
        let each = self.keys.iter();
        each.map(|key| Resource::of(vec![Arc::clone(key)]))
            .collect()
    }

    /// The number of nodes that have no free permit. A node that granted another one than the rest has one.
    fn most_against(&self, votes: &[Option<Vote>]) -> usize {
        let refuses = |holding: &&Holding| {
            let choice = holding.choice.as_ref();
            choice.is_none_or(|choice| choice.taken.is_none())
        };
        let holdings = votes.iter().flatten().filter_map(Vote::holding);
        holdings.filter(refuses).count()
    }
}

/// The reply of the script: 1 if a key is taken, or else 0; for each key `1` if it was free, or else `0`; the
/// remaining ms of the key that expires first (-1: never, -3: no string); and that key's value.
fn taken(value: Value) -> Option<Vote> {
    let Value::List(parts) = value else {
        return None;
    };
    let [
        Value::Int(is_granted),
        Value::Text(bits),
        Value::Int(left),
        holder,
    ] = &parts[..]
    else {
        return None;
    };
    let free = (0..).zip(bits).filter(|(_, bit)| **bit == b'1');
    let mut choice = Choice {
        taken: None,
        free: free.map(|(place, _)| place).collect(),
    };
    if *is_granted == 1 {
        choice.taken = Some(*choice.free.first()?);
        return Some(Vote::Granted {
            counter: None,
            epoch: 0,
            choice: Some(Arc::new(choice)),
        });
    }
    let mut holding = match holder {
        Value::Text(value) => Holding::by(value),
        _ => Holding::default(),
    };
    holding.remaining = match left {
        -1 => Remaining::Never,
        0.. => Remaining::Expires(Duration::from_millis(left.unsigned_abs())),
        _ => Remaining::NotALock,
    };
    holding.choice = Some(Arc::new(choice));
    Some(Vote::Held(holding))
}

/// The keys that permits of the lock on `key` may have.
pub(crate) fn every_key(key: &Resource, prefix: &[u8]) -> Vec<Arc<[u8]>> {
    AnyPermit::new(key, MAX_PERMITS, prefix).keys
}

/// The key of a permit: the first one is the plain lock, so that a plain lock counts as a holder.
#[cfg(any(test, feature = "testing"))]
pub(crate) fn key_of(key: &Resource, permit: u16, prefix: &[u8]) -> Resource {
    let plain = key.names().next().unwrap_or_default();
    Resource::all([name_of(plain, permit, prefix)])
}

fn name_of(plain: &[u8], permit: u16, prefix: &[u8]) -> Vec<u8> {
    if permit == 0 {
        return plain.to_vec();
    }
    let mut kind = PERMITS.to_vec();
    // Writing into a list of bytes never fails.
    let _ = write!(kind, "{permit}:");
    key_beside(plain, prefix, &kind)
}

/// The places that a majority of the `nodes` calls free. What a node granted to this attempt was free there.
pub(super) fn free_at_majority(choices: &[Arc<Choice>], nodes: usize) -> BTreeSet<u16> {
    let calling = |place: &u16| {
        let calling = choices.iter().filter(|choice| choice.free.contains(place));
        calling.count()
    };
    let any = choices.iter().flat_map(|choice| &choice.free).copied();
    any.filter(|place| calling(place) >= majority(nodes))
        .collect()
}

/// Checks a request for one of `count` permits.
pub(super) fn check(
    count: u16,
    resource: &Resource,
    has_fencing: bool,
    has_period: bool,
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
    if has_period {
        return Err(Invalid::new(
            "`once_per` with `permits`: several holders at a time would each run the job; leave one \
             of the two out",
        ));
    }
    Ok(())
}
