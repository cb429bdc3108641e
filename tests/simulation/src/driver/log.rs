//! What servers did, as they know it themselves.

use std::fmt;

use redlock_core::node::{Argument, Call, Script, Value};

/// What was asked of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Acquire,
    Confirm,
    Extend,
    Restore,
    Release,
    Inspect,
}

/// What a call is known by, among all that a server did.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct What {
    pub(super) kind: Kind,
    /// The first key.
    pub(super) key: Vec<u8>,
    /// The owner token. A question has none.
    pub(super) token: Vec<u8>,
    /// The ttl in ms, or the counter.
    pub(super) number: u64,
}

impl What {
    /// What a call of `script` asks.
    pub(super) fn of(script: &Script, keys: &[&[u8]], arguments: &[&[u8]]) -> Self {
        let name = script.name();
        let kind = match name.split('-').next() {
            Some("set" | "acquire") => Kind::Acquire,
            Some("confirm") => Kind::Confirm,
            Some("extend") => Kind::Extend,
            Some("restore") => Kind::Restore,
            Some("release") => Kind::Release,
            _ => Kind::Inspect,
        };
        let word = |words: &[&[u8]], at: usize| words.get(at).map(|word| word.to_vec());
        let number = word(arguments, if name == "set" { 3 } else { 1 });
        let number = number.and_then(|digits| String::from_utf8(digits).ok()?.parse().ok());
        Self {
            kind,
            key: word(keys, 0).unwrap_or_default(),
            token: word(arguments, 0).unwrap_or_default(),
            number: number.unwrap_or(0),
        }
    }

    /// What `call` asks.
    pub(super) fn of_call(call: &Call) -> Self {
        let arguments: Vec<_> = call.arguments().iter().map(Argument::as_bytes).collect();
        Self::of(call.script(), &[call.first_key()], &arguments)
    }
}

/// One call that a server was asked for.
#[derive(Clone, Debug)]
pub(super) struct Served {
    /// In µs.
    pub(super) at: u64,
    pub(super) host: String,
    pub(super) connection: u64,
    /// Its client had left the connection already, and may have undone it elsewhere.
    pub(super) is_late: bool,
    /// The server has a successor, which will never hear of it.
    pub(super) is_in_vain: bool,
    pub(super) what: What,
    /// Its reply.
    pub(super) did: Value,
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = String::from_utf8_lossy(&self.what.token);
        let random = token.rsplit('/').next().unwrap_or_default();
        write!(
            f,
            "{:>9} µs {} #{}{}{} {:?} {} by {:.6} with {}: {}",
            self.at,
            self.host,
            self.connection,
            if self.is_late { " late" } else { "" },
            if self.is_in_vain { " in vain" } else { "" },
            self.what.kind,
            self.what.key.escape_ascii(),
            random,
            self.what.number,
            shown(&self.did),
        )
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Text(text) | Value::Error(text) => text.escape_ascii().to_string(),
        Value::List(values) => values.iter().map(shown).collect::<Vec<_>>().join(" "),
        other => format!("{other:?}"),
    }
}
