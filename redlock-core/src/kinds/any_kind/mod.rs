//! Calls for a lock of any kind: a look at its holder, and a forced release.

pub(super) mod scripts;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::str::FromStr;
use std::time::Duration;

use crate::model::resource::Resource;
use crate::node::{Argument, Call, Effect, Holding, Remaining, Value, Vote};

use scripts::{FORCE_RELEASE, PEEK};

/// Asks which of `keys` is the first that is there, for how long, and whose.
pub(crate) fn peek(keys: &Resource) -> Call {
    Call::new(&PEEK, Effect::Looks, keys, read_peek)
}

/// Deletes what the holders with the tokens `lost` have on `keys`, and asks who has them then.
pub(crate) fn force_release(keys: &Resource, lost: &BTreeSet<Box<[u8]>>) -> Call {
    let lost = lost.iter().map(|token| Argument::bytes(token));
    Call::new(&FORCE_RELEASE, Effect::Looks, keys, read_holders).with(lost)
}

/// Reads which of several keys exists: its place, its remaining ms and its value.
fn read_peek(value: Value) -> Option<Vote> {
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

/// Reads who has a lock: the owner tokens, a line each.
fn read_holders(value: Value) -> Option<Vote> {
    match value {
        Value::Text(tokens) if tokens.is_empty() => Some(Vote::Absent),
        Value::Text(tokens) => Some(Vote::Held(Holding {
            value: Some(tokens.into()),
            ..Holding::default()
        })),
        _ => None,
    }
}

/// Returns the owner tokens in the answers to a forced release.
pub(crate) fn tokens_in(answers: &[Option<Vote>]) -> BTreeSet<Box<[u8]>> {
    let holdings = answers.iter().flatten().filter_map(Vote::holding);
    let lines = holdings.filter_map(|holding| holding.value.as_deref());
    let tokens = lines.flat_map(|lines| lines.split(|byte| *byte == b'\n'));
    tokens.map(Box::from).collect()
}

/// Splits a text at its first space into a number and the rest.
fn split_number<N: FromStr>(text: &[u8]) -> Option<(N, &[u8])> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    let number = std::str::from_utf8(&text[..space]).ok()?.parse().ok()?;
    Some((number, &text[space + 1..]))
}
