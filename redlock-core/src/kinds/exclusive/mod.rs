//! The plain lock, fenced or not: a single holder of one key, or of several.

pub(crate) mod scripts;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::kinds::fenced::Counters;
use crate::kinds::protocol_args::ProtocolArgs;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::hash_slot::AuxiliaryKeys;
use crate::node::store::parse_integer;
use crate::node::{Argument, Call, Counter, Effect, Holding, Remaining, Value, Vote};
use crate::quorum::lock_protocol::{LockProtocol, TurnRule};

use scripts::{ACQUIRE_ALL, EXTEND, MANY, MANY_FENCED, RELEASE, SET};

/// The last argument of an extension that restores missing keys.
pub(super) const BACK: &str = "back";

/// The protocol of a lock on one key or several.
pub(crate) struct Exclusive {
    keys: Resource,
    pub(super) counters: Option<Counters>,
    /// The keys of all permits, and the number of this one. `None` for locks other than permits.
    one_of: Option<(Resource, u16)>,
}

impl Exclusive {
    pub(crate) fn new(args: &ProtocolArgs<'_>) -> Self {
        let counters = || Counters::new(args.keys, args.prefix);
        Self {
            counters: args.is_fenced.then(counters),
            ..Self::plain(args.keys.clone())
        }
    }

    /// Returns the protocol of a plain lock on `keys`. This lock has no fencing token.
    pub(crate) fn plain(keys: Resource) -> Self {
        Self {
            keys,
            counters: None,
            one_of: None,
        }
    }

    /// Makes this lock one of several permits. `all` has their keys, and `number` is the number of this one.
    pub(crate) fn one_of(self, all: Resource, number: u16) -> Self {
        let one_of = Some((all, number));
        Self { one_of, ..self }
    }

    /// Builds the call that extends the lock and raises its counters to at least `count`.
    fn keep(&self, token: &OwnerToken, ttl: Duration, count: u64) -> Call {
        let call = Call::new(&EXTEND, Effect::Keeps, &self.keys, read_done)
            .with([Argument::token(token), Argument::millis(ttl)]);
        match &self.counters {
            Some(counters) => call
                .with_keys(counters.keys())
                .with(Counters::extension_args(count, ttl)),
            None => call,
        }
    }
}

impl LockProtocol for Exclusive {
    fn keys(&self) -> &Resource {
        &self.keys
    }

    fn acquire_call(&self, token: &OwnerToken, ttl: Duration, hint: u64) -> Call {
        let call = |script, read| Call::new(script, Effect::Takes, &self.keys, read);
        let arguments = [Argument::token(token), Argument::millis(ttl)];
        if let Some(counters) = &self.counters {
            let mut call = call(&ACQUIRE_ALL, read_fenced)
                .with_keys(counters.keys())
                .with(arguments)
                .with(Counters::acquisition_args(hint, ttl))
                .marked();
            call.batch_script = (self.keys.names().len() == 1).then_some(&MANY_FENCED);
            return call;
        }
        if self.keys.names().len() > 1 {
            return call(&ACQUIRE_ALL, |value, _| read_taken(value)).with(arguments);
        }
        let mut call = call(&SET, read_set).with(arguments);
        call.batch_script = Some(&MANY);
        call
    }

    fn confirm_call(&self, token: &OwnerToken, counter: u64, ttl: Duration) -> Option<Call> {
        self.counters.as_ref()?;
        Some(self.keep(token, ttl, counter))
    }

    fn extend_call(&self, token: &OwnerToken, ttl: Duration) -> Call {
        self.keep(token, ttl, 0)
    }

    fn restore_call(&self, token: &OwnerToken, ttl: Duration) -> Call {
        let words = [
            Argument::token(token),
            Argument::millis(ttl),
            Argument::text(BACK),
        ];
        Call::new(&EXTEND, Effect::PutsBack, &self.keys, read_done).with(words)
    }

    fn release_call(&self, token: &OwnerToken, until: Duration, _is_lease: bool) -> Call {
        let mut release = Call::new(&RELEASE, Effect::Undoes(until), &self.keys, read_done)
            .with([Argument::token(token)]);
        release.batch_script = (self.keys.names().len() == 1).then_some(&MANY);
        release
    }

    fn auxiliary_keys(&self) -> Vec<AuxiliaryKeys> {
        self.counters.iter().map(Counters::auxiliary_keys).collect()
    }

    fn turn_rule(&self) -> TurnRule {
        match &self.one_of {
            Some((all, _)) if *all != self.keys => TurnRule::PassOn,
            _ => TurnRule::HandOver,
        }
    }

    fn line_keys(&self) -> &Resource {
        self.one_of.as_ref().map_or(&self.keys, |(all, _)| all)
    }

    fn permit(&self) -> Option<u16> {
        self.one_of.as_ref().map(|(_, number)| *number)
    }
}

/// Reads the reply to `SET … GET`: the holder's value, or nil if it is granted.
fn read_set(value: Value, _call: &Call) -> Option<Vote> {
    match value {
        Value::Nil => Some(Vote::GRANTED),
        value => read_taken(value),
    }
}

/// Reads the reply of a script that acquires a fenced lock. If the call's hint is the number of the counters now, the
/// reply is their number before the grant. Otherwise the reply is a list of both numbers. The lease may use the numbers
/// between the two, so there has to be one.
fn read_fenced(value: Value, call: &Call) -> Option<Vote> {
    let numbers = match value {
        Value::Int(before @ 2..) => {
            let hint = parse_integer(call.arguments().get(2)?.as_bytes()).ok()?;
            [hint, before]
        }
        Value::List(numbers) => match numbers[..] {
            [Value::Int(count @ 0..), Value::Int(before @ 0..)] => [count, before],
            _ => return None,
        },
        value => return read_taken(value).filter(|vote| *vote != Vote::GRANTED),
    };
    let [count, first] = [numbers[0], numbers[1].saturating_add(1)].map(i64::unsigned_abs);
    (first < count).then(|| Vote::granted(Some(Counter { count, first }), None))
}

/// Reads the reply of a script that acquires. 1 is a grant without counters. A text is the holder's value. 0 means that
/// a key has another type.
pub(super) fn read_taken(value: Value) -> Option<Vote> {
    match value {
        Value::Int(0) => Some(Vote::Held(Holding::unknown(Remaining::NotALock))),
        Value::Int(1) => Some(Vote::GRANTED),
        Value::Text(holder) => Some(Vote::Held(Holding::by(holder))),
        _ => None,
    }
}

/// Reads the reply of a script that extends or releases. The reply is 1 for done, -1 for a missing key, and 0 or a
/// value for another holder's key.
pub(super) fn read_done(value: Value, _call: &Call) -> Option<Vote> {
    match value {
        Value::Int(1) => Some(Vote::GRANTED),
        Value::Int(0) => Some(Vote::Held(Holding::default())),
        Value::Int(-1) => Some(Vote::Absent),
        Value::Text(holder) => Some(Vote::Held(Holding::by(holder))),
        _ => None,
    }
}

/// Returns the protocol of a plain lock on `keys`.
#[cfg(test)]
pub(crate) fn plain(keys: &Resource) -> std::sync::Arc<dyn LockProtocol> {
    std::sync::Arc::new(Exclusive::plain(keys.clone()))
}
