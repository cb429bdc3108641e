//! The command or script for an operation, and the meaning of its reply.

mod batch;
mod permits;
mod sharing;

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use crate::model::resource::Resource;
use crate::node::holders::Holders;
use crate::node::operation::{HINT_WINDOW, Operation, Want, counter_ttl};
use crate::node::sharing::Sharing;
use crate::node::{Answer, Holding, NodeError, NodeErrorKind, Remaining};

use super::permit_scripts::RELEASE_MANY;
use super::scripts::{
    ACQUIRE_ALL, ACQUIRE_FENCED, CONFIRM, EXTEND, FORCE_RELEASE, PEEK, RECALL, RELEASE, REMEMBER,
    RESTORE,
};
use super::wire::{Digits, Value, pack};

pub(in crate::redis) use batch::{
    MOST_IN_BATCH, answer_of_each, is_call_refused, may_be_batched, release_each,
};

/// The settings that decide how an operation is encoded.
pub(in crate::redis) struct Encoding {
    /// The key of the node's marker, if a fenced acquisition has to check it. It is the same for all
    /// nodes of one client.
    pub(in crate::redis) marker: Option<Arc<[u8]>>,
    /// True if the connection's user may run what the scripts of readers need.
    pub(in crate::redis) readers_tried: bool,
    /// True if the script of several releases may be called.
    pub(in crate::redis) release_each: bool,
}

impl Encoding {
    /// True if the acquisition need not try the commands of readers.
    fn has_tried(&self, operation: &Operation) -> bool {
        self.readers_tried && operation.sharing().is_some_and(Sharing::is_reading)
    }
}

/// The number of keys up to which a release reads each of them by itself.
const FEW: usize = 8;

/// A test of a connection. Any command that every user may run would do. The library needs `TIME` anyway.
pub(in crate::redis) const HEARTBEAT: &[u8] = b"*1\r\n$4\r\nTIME\r\n";

/// The bytes of `operation`, encoded once for all nodes with the same settings.
pub(in crate::redis) fn encoded<'a>(operation: &'a Operation, encoding: &Encoding) -> &'a [u8] {
    // Only these differ: a fenced acquisition by the marker, and a reader's by what was tried.
    let (is_fenced, is_marked) = (operation.counters().is_some(), encoding.marker.is_some());
    let form = match operation.want() {
        Want::Acquire { .. } if operation.sharing().is_some() => {
            2 * usize::from(is_fenced && is_marked) + usize::from(encoding.has_tried(operation))
        }
        want if want.is_acquisition() && is_fenced && is_marked => 2,
        _ => 0,
    };
    operation.encoded(form, |operation| encode(operation, encoding))
}

fn encode(operation: &Operation, encoding: &Encoding) -> Vec<u8> {
    let mut keys = operation.keys().names();
    match operation.want() {
        Want::Acquire { ttl, .. } if !is_script(operation) => {
            let ttl = millis(ttl);
            let key = keys.next().unwrap_or_default();
            let token = operation.token().as_bytes();
            // With GET, a refusal has the holder's value.
            let words: [&[u8]; 7] = [b"SET", key, token, b"NX", b"PX", ttl.as_bytes(), b"GET"];
            pack(words.into_iter())
        }
        Want::Inspect if keys.len() > 1 => eval(PEEK, operation.keys(), &[]),
        Want::Inspect => pack([b"PTTL", keys.next().unwrap_or_default()].into_iter()),
        Want::Remember { ttl, longest, .. } => {
            let (record, times) = (operation.run_record(), [ttl, longest].map(millis));
            let [ttl, longest] = times.each_ref().map(Digits::as_bytes);
            eval(REMEMBER, operation.keys(), &[&record, ttl, longest])
        }
        Want::Recall => eval(RECALL, operation.keys(), &[]),
        Want::Peek => eval(PEEK, operation.keys(), &[]),
        Want::ForceRelease => {
            let holders: Vec<&[u8]> = operation.holders().iter().map(|it| &**it).collect();
            eval(FORCE_RELEASE, operation.keys(), &holders)
        }
        _ => script_call(operation, encoding, false),
    }
}

/// The call of a script with its text.
fn eval(text: &str, keys: &Resource, arguments: &[&[u8]]) -> Vec<u8> {
    let count = Digits::of(keys.names().len() as u64);
    let head: [&[u8]; 3] = [b"EVAL", text.as_bytes(), count.as_bytes()];
    let words = head.into_iter().chain(keys.names());
    pack(words.chain(arguments.iter().copied()))
}

/// True if `operation` sets one key if it is free, and does nothing else.
pub(in crate::redis) fn is_plain_acquisition(operation: &Operation) -> bool {
    matches!(operation.want(), Want::Acquire { .. }) && !is_script(operation)
}

/// True if an acquisition needs a script: `SET NX` handles one key, no counter, and compares nothing.
fn is_script(acquisition: &Operation) -> bool {
    acquisition.keys().names().len() > 1
        || acquisition.counters().is_some()
        || acquisition.sharing().is_some()
}

fn micros(span: Duration) -> Digits {
    Digits::of(u64::try_from(span.as_micros()).unwrap_or(u64::MAX))
}

fn millis(ttl: Duration) -> Digits {
    // Requests are checked to be below a year.
    Digits::of(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX))
}

/// The script call after a NOSCRIPT reply: with the whole text, which the server then remembers.
pub(in crate::redis) fn encode_with_text(operation: &Operation, encoding: &Encoding) -> Vec<u8> {
    script_call(operation, encoding, true)
}

fn script_call(operation: &Operation, encoding: &Encoding, with_text: bool) -> Vec<u8> {
    if let Some(sharing) = operation.sharing() {
        return sharing::script_call(operation, sharing, encoding, with_text);
    }
    let is_fenced = operation.counters().is_some();
    let marker = encoding.marker.as_deref();
    let marker = marker.filter(|_| is_fenced && operation.want().is_acquisition());
    if let Want::AcquirePermit { ttl } = operation.want() {
        return permits::encode(operation, ttl, with_text);
    }
    let (script, numbers) = match operation.want() {
        Want::Acquire { ttl, hint } if is_fenced => (
            &*ACQUIRE_FENCED,
            vec![
                millis(ttl),
                Digits::of(hint),
                micros(HINT_WINDOW),
                millis(counter_ttl(ttl)),
            ],
        ),
        Want::Acquire { ttl, .. } => (&*ACQUIRE_ALL, vec![millis(ttl)]),
        Want::Confirm { counter, ttl } => (
            &*CONFIRM,
            vec![Digits::of(counter), millis(counter_ttl(ttl))],
        ),
        Want::Extend { ttl } if is_fenced => {
            (&*EXTEND, vec![millis(ttl), millis(counter_ttl(ttl))])
        }
        Want::Extend { ttl } => (&*EXTEND, vec![millis(ttl)]),
        Want::Restore { ttl } => (&*RESTORE, vec![millis(ttl)]),
        Want::Release { .. } if operation.keys().names().len() > FEW => {
            (&*RELEASE_MANY, Vec::new())
        }
        // Only the release comes here: `encode` has commands of their own for the others.
        Want::Release { .. }
        | Want::Inspect
        | Want::Remember { .. }
        | Want::Recall
        | Want::Peek
        | Want::ForceRelease
        | Want::AcquirePermit { .. } => (&*RELEASE, Vec::new()),
    };
    let counters = operation.counters().map(Resource::names);
    let keys = operation
        .keys()
        .names()
        .chain(counters.into_iter().flatten())
        .chain(marker);
    let count = Digits::of(keys.clone().count() as u64);
    let head: [&[u8]; 3] = if with_text {
        [b"EVAL", script.text.as_bytes(), count.as_bytes()]
    } else {
        [b"EVALSHA", script.sha.as_bytes(), count.as_bytes()]
    };
    let words = head.into_iter().chain(keys);
    let words = words.chain([operation.token().as_bytes()]);
    pack(words.chain(numbers.iter().map(Digits::as_bytes)))
}

/// True if the server does not know the script: it was restarted, or its scripts were flushed.
pub(in crate::redis) fn is_noscript(value: &Value<'_>) -> bool {
    matches!(value, Value::Error(text) if text.starts_with(b"NOSCRIPT"))
}

/// True if a fenced acquisition set nothing because the node's marker is gone, or shows a quarantine.
pub(in crate::redis) fn is_marker_gone(value: &Value<'_>) -> bool {
    matches!(value, Value::Error(text) if text.starts_with(b"NOMARKER"))
}

/// True if the server answered that it is a replica, and wrote nothing.
pub(in crate::redis) fn is_of_replica(value: &Value<'_>) -> bool {
    matches!(value, Value::Error(text) if text.starts_with(b"READONLY") || text.starts_with(b"MASTERDOWN"))
}

/// The meaning of `value` as the answer to `operation`, from a node in `epoch`.
pub(in crate::redis) fn interpret(operation: &Operation, epoch: u32, value: &Value<'_>) -> Answer {
    let granted = |counter| Answer::Granted {
        counter,
        epoch,
        permits: None,
    };
    let (is_script, is_fenced) = (is_script(operation), operation.counters().is_some());
    match (operation.want(), value) {
        (_, Value::Error(text)) if text.starts_with(b"NOMARKER") => {
            let detail = "its marker is gone, or has another process's quarantine; its restart \
                          check is under way";
            Answer::Failed(NodeError::unsent(NodeErrorKind::Quarantined, detail))
        }
        (_, Value::Error(text)) if text.starts_with(b"WRONGTYPE") => {
            Answer::Held(Holding::unknown(Remaining::NotALock))
        }
        (Want::Acquire { .. }, Value::Error(text)) if !is_script && is_refusal(text) => {
            // Nothing was set, so there is nothing to release.
            Answer::Failed(NodeError::server(text).into_unsent())
        }
        (_, Value::Error(text)) => Answer::Failed(NodeError::server(text)),
        (Want::AcquirePermit { .. }, value) => {
            permits::interpret(operation.permits(), epoch, value).unwrap_or_else(nonsense)
        }
        (Want::Acquire { .. }, value) if operation.sharing().is_some() => {
            sharing::acquired(operation, epoch, value)
        }
        (Want::Acquire { .. } | Want::Extend { .. }, Value::Bulk(holder)) => {
            Answer::Held(Holding::by(*holder))
        }
        (Want::Acquire { .. }, Value::Int(0)) if is_script => {
            Answer::Held(Holding::unknown(Remaining::NotALock))
        }
        (Want::Acquire { .. }, Value::Int(count)) if is_fenced => {
            granted(Some(count.unsigned_abs()))
        }
        (Want::Acquire { .. }, Value::Int(1)) if is_script => granted(None),
        // The key did not exist.
        (Want::Acquire { .. }, Value::Nil) if !is_script => granted(None),
        (Want::Inspect, Value::Int(-2))
        | (Want::Inspect | Want::Recall | Want::Peek, Value::Nil) => Answer::Absent,
        (Want::Inspect, Value::Int(-1)) => Answer::Held(Holding::unknown(Remaining::Never)),
        (Want::Inspect, Value::Int(left)) => {
            let left = Duration::from_millis(left.unsigned_abs());
            Answer::Held(Holding::unknown(Remaining::Expires(left)))
        }
        (Want::Inspect | Want::Peek, Value::Bulk(text)) => seen(text).unwrap_or_else(nonsense),
        (Want::ForceRelease, Value::Bulk(text)) => Holders::answered(text),
        (Want::Recall, Value::Bulk(text)) => recalled(text).unwrap_or_else(nonsense),
        (Want::Acquire { .. } | Want::Recall | Want::Peek, _) => nonsense(),
        // The other operations are scripts, with the same replies.
        (_, Value::Int(1)) => granted(None),
        (_, Value::Int(0)) => Answer::Held(Holding::default()),
        (_, Value::Int(-1)) => Answer::Absent,
        _ => nonsense(),
    }
}

/// Reads a run record: its remaining ms, a space, and the record.
fn recalled(text: &[u8]) -> Option<Answer> {
    let (left, record) = number(text)?;
    let mut holding = Holding::by(record);
    holding.remaining = Remaining::Expires(Duration::from_millis(left));
    Some(Answer::Held(holding))
}

/// Reads which of several keys exists: its place, its remaining ms and its value.
fn seen(text: &[u8]) -> Option<Answer> {
    let (place, rest) = number(text)?;
    let (left, value) = number::<i64>(rest)?;
    let mut holding = Holding::by(value);
    holding.place = Some(place);
    holding.remaining = match left {
        -1 => Remaining::Never,
        left => Remaining::Expires(Duration::from_millis(left.try_into().unwrap_or(0))),
    };
    Some(Answer::Held(holding))
}

/// The number before the first space, and what comes after the space.
fn number<N: FromStr>(text: &[u8]) -> Option<(N, &[u8])> {
    let space = text.iter().position(|byte| *byte == b' ')?;
    let number = std::str::from_utf8(&text[..space]).ok()?.parse().ok()?;
    Some((number, &text[space + 1..]))
}

/// True if the error's first word says that the server did not run the command: `OOM`, `NOPERM`,
/// `NOREPLICAS` and similar. `ERR` may precede any text, also a proxy's loss of its server.
fn is_refusal(text: &[u8]) -> bool {
    let code = text.split(|byte| *byte == b' ').next().unwrap_or_default();
    code != b"ERR" && !code.is_empty() && code.iter().all(u8::is_ascii_uppercase)
}

fn nonsense() -> Answer {
    Answer::Failed(NodeError::sent(
        NodeErrorKind::Protocol,
        "the server's answer is not a valid answer to the command",
    ))
}

#[cfg(test)]
mod tests;
