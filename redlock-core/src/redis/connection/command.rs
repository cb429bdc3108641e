//! Turns calls into commands of the `redis` crate, and the crate's values into replies.
#![doc = include_str!("command/operations.md")]

use std::error::Error;
use std::io;
use std::sync::Arc;

use ::redis::{Cmd, ErrorKind, RedisError, Value as Theirs};

use crate::model::token::OwnerToken;
use crate::node::{Argument, Call, Code, NodeError, NodeErrorKind, Script, Value};
use crate::redis::errors::{CLOSED, GARBLED, describe, garbled, lost, not_connected, rejected};
use crate::redis::inbox::HugeKeys;

/// The usual length of a word, so that most commands need their memory once.
const WORD_LENGTH: usize = 48;

/// Facts about a connection that change how calls are sent.
pub(in crate::redis) struct CallExtras {
    /// The key of the node's marker, if it has one.
    pub(in crate::redis) marker: Option<Arc<[u8]>>,
    /// True if the user may run the commands of all kinds of locks. Scripts then need no trial before they write.
    pub(in crate::redis) is_tried: bool,
    /// Keys that may hold huge values. Calls read only the beginnings of such values.
    pub(in crate::redis) huge: HugeKeys,
}

/// Builds the command for `call`. Set `with_text` if the server has answered `NOSCRIPT` to the call.
pub(in crate::redis) fn command(call: &Call, extras: &CallExtras, with_text: bool) -> Cmd {
    let script = call.script;
    let marker = extras.marker.as_deref().filter(|_| call.has_marker);
    let keys = call.keys().chain(marker);
    let is_tried = extras.is_tried && script.checks_commands;
    let mut arguments = call.arguments().iter().map(Argument::as_bytes);
    let is_brief = extras.huge.has_any_of(call);
    if let (Code::Command(word, options, _), false) = (script.code, is_brief) {
        let first = arguments.next();
        let options = options.iter().map(|it| it.as_bytes());
        let words = keys.chain(first).chain(options).chain(arguments);
        let mut command = with_room(1 + words.size_hint().0);
        add_words(command.arg(word), words);
        return command;
    }
    let arguments = arguments.chain(is_tried.then_some(&b"tried"[..]));
    if is_brief {
        return eval(["EVAL", &script.in_brief()], keys, arguments);
    }
    script_call(script, keys, arguments, with_text)
}

/// Builds a call of `script`, by its hash if the handshake loads the script. `with_text` sends the text in any case.
pub(in crate::redis) fn script_call<'a, 'b>(
    script: &Script,
    keys: impl Iterator<Item = &'a [u8]> + Clone,
    arguments: impl Iterator<Item = &'b [u8]>,
    with_text: bool,
) -> Cmd {
    let call = match script.code {
        Code::Loaded(_) if !with_text => ["EVALSHA", script.sha()],
        _ => ["EVAL", script.text().unwrap_or_default()],
    };
    eval(call, keys, arguments)
}

fn eval<'a, 'b>(
    [name, text]: [&str; 2],
    keys: impl Iterator<Item = &'a [u8]> + Clone,
    arguments: impl Iterator<Item = &'b [u8]>,
) -> Cmd {
    let count = keys.clone().count();
    let mut command = with_room(3 + count + arguments.size_hint().0);
    command.arg(name).arg(text).arg(count);
    add_words(&mut command, keys);
    add_words(&mut command, arguments);
    command
}

/// Builds one call of `script` for all `calls`. The first `taken` are acquisitions with one ttl, the others releases.
pub(in crate::redis) fn many<'a>(
    script: &Script,
    calls: impl Iterator<Item = &'a Call> + Clone,
    taken: usize,
    extras: &CallExtras,
) -> Cmd {
    let acquisitions = calls.clone().take(taken);
    let acquisition = acquisitions.clone().next();
    let tokens = calls
        .clone()
        .map(|it| it.token().map_or(&[][..], OwnerToken::as_bytes));
    let own = acquisitions.clone().filter_map(|it| it.arguments().get(2));
    let common = acquisition.and_then(|it| it.arguments().get(3..));
    let others = own.chain(common.unwrap_or_default());
    let count = taken.to_string();
    let ttl = acquisition
        .and_then(Call::ttl)
        .map(|ttl| [count.as_bytes(), ttl]);
    let others = others.map(Argument::as_bytes);
    let arguments = tokens.chain(others).chain(ttl.into_iter().flatten());
    let marker = extras.marker.as_deref();
    let marker = marker.filter(|_| acquisition.is_some_and(|it| it.has_marker));
    let keys = calls.filter_map(|it| it.keys().next());
    let keys = keys.chain(acquisitions.flat_map(|it| it.keys().skip(1)));
    script_call(script, keys.chain(marker), arguments, false)
}

fn with_room(words: usize) -> Cmd {
    Cmd::with_capacity(words, words * WORD_LENGTH)
}

fn add_words<'a>(command: &mut Cmd, words: impl Iterator<Item = &'a [u8]>) {
    for word in words {
        command.arg(word);
    }
}

/// Converts a reply that the crate has read.
pub(in crate::redis) fn value(theirs: Theirs) -> Value {
    let list = |parts: Vec<Theirs>| Value::List(parts.into_iter().map(value).collect());
    match theirs {
        Theirs::Nil => Value::Nil,
        Theirs::Int(number) => Value::Int(number),
        Theirs::Okay => Value::text(*b"OK"),
        Theirs::SimpleString(text) | Theirs::VerbatimString { text, .. } => {
            Value::text(text.into_bytes())
        }
        Theirs::BulkString(bytes) => Value::text(bytes),
        Theirs::Array(parts) => list(parts),
        Theirs::Map(pairs) => list(pairs.into_iter().flat_map(<[Theirs; 2]>::from).collect()),
        Theirs::ServerError(error) => match error.details() {
            Some(details) => Value::error(&format!("{} {details}", error.code())),
            None => Value::error(error.code()),
        },
        _ => Value::error("ERR a reply of an unknown kind"),
    }
}

/// Returns the error for calls that may have been sent on a connection that broke.
pub(in crate::redis) fn broken(error: &RedisError) -> NodeError {
    if error.kind() == ErrorKind::Parse {
        return garbled();
    }
    lost(reason(error))
}

/// Returns the error for a failed attempt to connect.
pub(in crate::redis) fn unconnected(error: &RedisError) -> NodeError {
    if error.kind() == ErrorKind::Parse {
        return not_connected(GARBLED);
    }
    if error.kind() == ErrorKind::AuthenticationFailed {
        // The crate drops the server's error text if it speaks RESP2.
        let detail = "the server refuses the login, and gives no reason";
        return NodeError::unsent(NodeErrorKind::Denied, detail);
    }
    let Some(code) = error.code() else {
        #[cfg(feature = "tls")]
        if of_the_system(error).is_some_and(crate::redis::tls::is_about_certificates) {
            return NodeError::unsent(NodeErrorKind::Denied, reason(error));
        }
        return not_connected(reason(error));
    };
    let text = [code, error.detail().unwrap_or_default()].join(" ");
    rejected(NodeError::server(text.trim_end().as_bytes()))
}

/// Returns the error of the system or of TLS inside the crate's error, if there is one.
fn of_the_system(error: &RedisError) -> Option<&io::Error> {
    let source = error.source()?;
    let source = source.downcast_ref::<Arc<dyn Error + Send + Sync>>()?;
    source.downcast_ref()
}

/// Returns the text of the crate's error. Omits its kind, and the number of a system's error.
fn reason(error: &RedisError) -> String {
    match of_the_system(error) {
        Some(error) => describe(error),
        None if error.is_connection_dropped() => CLOSED.to_owned(),
        None => error.to_string(),
    }
}

/// True if the server answered that it is a replica, and wrote nothing. Searches lists of answers too.
pub(in crate::redis) fn is_of_replica(value: &Value) -> bool {
    match value {
        Value::List(parts) => parts.iter().any(is_of_replica),
        value => is_error(value, "READONLY") || is_error(value, "MASTERDOWN"),
    }
}

/// True if the value is an error that begins with `code`.
pub(in crate::redis) fn is_error(value: &Value, code: &str) -> bool {
    matches!(value, Value::Error(text) if text.starts_with(code.as_bytes()))
}

#[cfg(test)]
mod tests;
