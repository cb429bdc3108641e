//! The bytes of a call, and what a server's reply to it is.

mod joined;

use std::sync::Arc;

use bytes::{BufMut, BytesMut};

use crate::node::{Answer, Argument, Call, Code, Script, Value};

use super::wire::{self, Digits, pack_behind};

pub(in crate::redis) use joined::{MOST_JOINED, encode_joined, is_call_refused, value_of_each};

/// What a connection adds to calls.
pub(in crate::redis) struct Encoding {
    /// The key of the node's marker, if it has one.
    pub(in crate::redis) marker: Option<Arc<[u8]>>,
    /// True if the connection's user may run what scripts of some kinds of locks would try before they write.
    pub(in crate::redis) is_tried: bool,
    /// True if several calls may be made by one.
    pub(in crate::redis) joins: bool,
}

/// A test of a connection. Any command that every user may run would do. The library needs `TIME` anyway.
pub(in crate::redis) const HEARTBEAT: &[u8] = b"*1\r\n$4\r\nTIME\r\n";

/// Appends the bytes of `call`. `with_text` is for a call that the server has refused with `NOSCRIPT`.
pub(in crate::redis) fn encode(
    call: &Call,
    encoding: &Encoding,
    with_text: bool,
    output: &mut BytesMut,
) {
    let marker = encoding.marker.as_deref();
    let keys = call.keys().chain(marker.filter(|_| call.has_marker()));
    let script = call.script();
    let is_tried = encoding.is_tried && script.tries();
    let arguments = call.arguments().iter().map(Argument::as_bytes);
    let arguments = arguments.chain(is_tried.then_some(&b"tried"[..]));
    if let Code::Command(word) = script.code() {
        return pack_behind(&[word.as_bytes()], keys.chain(arguments), output);
    }
    script_call(script, keys, arguments, with_text, output);
}

/// Appends the call of a script, with its text if the server does not remember it.
pub(in crate::redis) fn script_call<'a>(
    script: &Script,
    keys: impl Iterator<Item = &'a [u8]> + Clone,
    arguments: impl Iterator<Item = &'a [u8]> + Clone,
    with_text: bool,
    output: &mut impl BufMut,
) {
    let count = Digits::of(keys.clone().count() as u64);
    let count = count.as_bytes();
    let head: [&[u8]; 3] = match script.code() {
        Code::Loaded(_) if !with_text => [b"EVALSHA", script.sha().as_bytes(), count],
        _ => {
            let text = script.text().unwrap_or_default();
            [b"EVAL", text.as_bytes(), count]
        }
    };
    pack_behind(&head, keys.chain(arguments), output);
}

/// The answer to `call` by the reply `value`, from a node in `epoch`.
pub(in crate::redis) fn answer(call: &Call, value: &wire::Value<'_>, epoch: u32) -> Answer {
    Answer::of_reply(call, owned(value), epoch)
}

pub(in crate::redis) fn owned(value: &wire::Value<'_>) -> Value {
    match value {
        wire::Value::Nil => Value::Nil,
        wire::Value::Int(number) => Value::Int(*number),
        wire::Value::Simple(text) | wire::Value::Bulk(text) => Value::text(*text),
        wire::Value::Error(text) => Value::Error((*text).into()),
        wire::Value::Array(parts) | wire::Value::Push(parts) => {
            Value::List(parts.iter().map(owned).collect())
        }
    }
}

/// True if the server does not know the script: it was restarted, or its scripts were flushed.
pub(in crate::redis) fn is_noscript(value: &wire::Value<'_>) -> bool {
    matches!(value, wire::Value::Error(text) if text.starts_with(b"NOSCRIPT"))
}

/// True if a call set nothing because the node's marker is gone, or shows a quarantine.
pub(in crate::redis) fn is_marker_gone(value: &wire::Value<'_>) -> bool {
    matches!(value, wire::Value::Error(text) if text.starts_with(b"NOMARKER"))
}

#[cfg(test)]
mod tests;
