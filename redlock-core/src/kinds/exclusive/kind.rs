//! The plain lock: a holder that is the only one.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::kinds::fenced::Fenced;
use crate::kinds::{Asking, Wants};
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::{Argument, Call, Effect, Holding, Remaining, Script, Value, Vote};
use crate::quorum::kind::{Kind, TurnRule};

use super::{ACQUIRE_ALL, EXTEND, MANY, RELEASE, RELEASE_MANY, RESTORE, SET};

/// The number of keys up to which a release reads each of them by itself.
const FEW: usize = 8;

/// One lock on one key or several.
pub(crate) struct Exclusive {
    keys: Resource,
    /// If it is one of several that are alike: the keys of all, and its number.
    one_of: Option<(Resource, u16)>,
}

/// A request for it.
pub(crate) struct Plain;

impl Wants for Plain {
    fn asked(&self, asking: Asking<'_>) -> Arc<dyn Kind> {
        let keys = asking.keys.clone();
        if asking.is_fenced {
            Arc::new(Fenced::new(keys, asking.prefix))
        } else {
            Arc::new(Exclusive::new(keys))
        }
    }

    fn label(&self) -> &'static str {
        "plain"
    }

    fn is_alone(&self) -> bool {
        true
    }

    fn is_covered_by_being_alone(&self) -> bool {
        true
    }
}

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a plain lock")
    }
}

impl Exclusive {
    pub(crate) fn new(keys: Resource) -> Self {
        let one_of = None;
        Self { keys, one_of }
    }

    /// The only one of its like.
    pub(crate) fn only(keys: Resource) -> Self {
        let one_of = Some((keys.clone(), 0));
        Self { keys, one_of }
    }

    /// The lock with this `number` among those that have the keys `all`.
    pub(crate) fn one_of(keys: Resource, all: Resource, number: u16) -> Self {
        let one_of = Some((all, number));
        Self { keys, one_of }
    }
}

impl Kind for Exclusive {
    fn keys(&self) -> &Resource {
        &self.keys
    }

    fn acquire(&self, token: &OwnerToken, ttl: Duration, _hint: u64) -> Call {
        let (token, ttl) = (Argument::token(token), Argument::millis(ttl));
        if self.keys.names().len() > 1 {
            let call = Call::new(&ACQUIRE_ALL, Effect::Takes, &self.keys, taken);
            return call.with([token, ttl]);
        }
        let [nx, px, get] = ["NX", "PX", "GET"].map(Argument::word);
        // With GET, a refusal has the holder's value.
        Call::new(&SET, Effect::Takes, &self.keys, set)
            .with([token, nx, px, ttl, get])
            .joining(&MANY)
    }

    fn extend(&self, token: &OwnerToken, ttl: Duration) -> Call {
        extend(&self.keys, token, ttl)
    }

    fn restore(&self, token: &OwnerToken, ttl: Duration) -> Call {
        restore(&self.keys, token, ttl)
    }

    fn release(&self, token: &OwnerToken, until: Duration, _is_lease: bool) -> Call {
        release(&self.keys, token, until)
    }

    fn turn(&self) -> TurnRule {
        if *self.line() == self.keys {
            TurnRule::HandOver
        } else {
            TurnRule::PassOn
        }
    }

    fn line(&self) -> &Resource {
        self.one_of.as_ref().map_or(&self.keys, |(all, _)| all)
    }

    fn number(&self) -> Option<u16> {
        self.one_of.as_ref().map(|(_, number)| *number)
    }
}

/// The extension of keys that hold the token.
pub(crate) fn extend(keys: &Resource, token: &OwnerToken, ttl: Duration) -> Call {
    Call::new(&EXTEND, Effect::Keeps, keys, extended)
        .with([Argument::token(token), Argument::millis(ttl)])
}

/// Puts keys back that are gone.
pub(crate) fn restore(keys: &Resource, token: &OwnerToken, ttl: Duration) -> Call {
    Call::new(&RESTORE, Effect::PutsBack, keys, done)
        .with([Argument::token(token), Argument::millis(ttl)])
}

/// The release of keys that hold the token, which may live for `until`.
pub(crate) fn release(keys: &Resource, token: &OwnerToken, until: Duration) -> Call {
    let count = keys.names().len();
    let script: &'static Script = if count > FEW { &RELEASE_MANY } else { &RELEASE };
    let release = Call::new(script, Effect::Undoes(until), keys, done);
    let release = release.with([Argument::token(token)]);
    if count == 1 {
        release.joining(&MANY)
    } else {
        release
    }
}

/// The reply to `SET … GET`: nil, or the holder's value. As one of many calls: 1 for nil.
fn set(value: Value) -> Option<Vote> {
    match value {
        Value::Nil | Value::Int(1) => Some(Vote::GRANTED),
        Value::Text(holder) => Some(Vote::Held(Holding::by(holder))),
        _ => None,
    }
}

/// The reply of a script that takes keys: 1, the holder's value, or 0 for a key that is no string.
fn taken(value: Value) -> Option<Vote> {
    match value {
        Value::Int(1) => Some(Vote::GRANTED),
        Value::Int(0) => Some(Vote::Held(Holding::unknown(Remaining::NotALock))),
        Value::Text(holder) => Some(Vote::Held(Holding::by(holder))),
        _ => None,
    }
}

/// The reply to an extension: as [`done`], or the holder's value.
pub(crate) fn extended(value: Value) -> Option<Vote> {
    match value {
        Value::Text(holder) => Some(Vote::Held(Holding::by(holder))),
        value => done(value),
    }
}

/// The reply of most scripts: 1 for done, 0 for another's key, and -1 for no key.
pub(crate) fn done(value: Value) -> Option<Vote> {
    match value {
        Value::Int(1) => Some(Vote::GRANTED),
        Value::Int(0) => Some(Vote::Held(Holding::default())),
        Value::Int(-1) => Some(Vote::Absent),
        _ => None,
    }
}

/// A plain lock on `keys`.
pub(crate) fn plain(keys: &Resource) -> Arc<dyn Kind> {
    Arc::new(Exclusive::new(keys.clone()))
}
