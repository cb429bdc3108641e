//! Calls for locks of any kind: peeking at the holder, and releasing by force.

pub(super) mod scripts;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use crate::model::resource::Resource;
use crate::node::{Argument, Call, Effect, Holding, Remaining, Value, Vote};

use scripts::{FORCE_RELEASE, PEEK};

/// Builds the call that reports the first existing key, its value and its remaining time.
pub(crate) fn peek(keys: &Resource) -> Call {
    Call::new(&PEEK, Effect::Looks, keys, read_peek)
}

/// Builds the call that takes `keys` from the holders with the tokens `lost`. The reply names the remaining holders.
pub(crate) fn force_release(keys: &Resource, lost: &BTreeSet<Box<[u8]>>) -> Call {
    let lost = lost.iter().map(|token| Argument::bytes(token));
    Call::new(&FORCE_RELEASE, Effect::Looks, keys, read_holders).with(lost)
}

/// Reads the reply to a peek: the existing key's place, remaining ms and value.
fn read_peek(value: Value, _call: &Call) -> Option<Vote> {
    let text = match value {
        Value::Nil => return Some(Vote::Absent),
        Value::Text(text) => text,
        _ => return None,
    };
    let (place, rest) = split_number(&text)?;
    let (left, value) = split_number::<i64>(rest)?;
    let mut holding = Holding::by(value);
    holding.place = Some(place);
    holding.remaining = match left {
        -1 => Remaining::Never,
        left => Remaining::Expires(Duration::from_millis(left.try_into().unwrap_or(0))),
    };
    Some(Vote::Held(holding))
}

/// Reads the reply to a forced release: the remaining holders' tokens, one on each line.
fn read_holders(value: Value, _call: &Call) -> Option<Vote> {
    match value {
        Value::Text(tokens) if tokens.is_empty() => Some(Vote::Absent),
        Value::Text(tokens) => Some(Vote::Held(Holding {
            value: Some(tokens.into()),
            ..Holding::default()
        })),
        _ => None,
    }
}

/// Returns the owner tokens that the answers to a forced release contain.
pub(crate) fn tokens_in(answers: &[Option<Vote>]) -> BTreeSet<Box<[u8]>> {
    let holdings = answers.iter().flatten().filter_map(Vote::holding);
    let lines = holdings.filter_map(|holding| holding.value.as_deref());
    let tokens = lines.flat_map(|lines| lines.split(|byte| *byte == b'\n'));
    tokens.map(Box::from).collect()
}

/// Splits a text at its first space, into a number and the rest.
fn split_number<N: FromStr>(text: &[u8]) -> Option<(N, &[u8])> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    let number = std::str::from_utf8(&text[..space]).ok()?.parse().ok()?;
    Some((number, &text[space + 1..]))
}
