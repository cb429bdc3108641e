//! The protocol as a server has it: commands in, replies out.

use redlock_core::node::Value;

/// A reply, and what a server says unasked.
#[derive(Clone, Debug)]
pub(super) enum Reply {
    Ok,
    Error(String),
    Int(i64),
    Nil,
    Bulk(Vec<u8>),
    Array(Vec<Self>),
    /// RESP3's: names and values by turns.
    Map(Vec<Self>),
    Push(Vec<Self>),
}

impl Reply {
    pub(super) fn text(text: impl AsRef<[u8]>) -> Self {
        Self::Bulk(text.as_ref().to_vec())
    }

    pub(super) fn texts(texts: &[&str]) -> Self {
        Self::Array(texts.iter().map(Self::text).collect())
    }

    /// The reply of a script.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Nil => Self::Nil,
            Value::Int(number) => Self::Int(*number),
            Value::Text(text) => Self::text(text),
            Value::List(values) => Self::Array(values.iter().map(Self::of).collect()),
            Value::Error(text) => Self::Error(String::from_utf8_lossy(text).into_owned()),
        }
    }

    pub(super) fn encode(&self, into: &mut Vec<u8>) {
        let list = |into: &mut Vec<u8>, kind: char, length: usize, items: &[Self]| {
            into.extend(format!("{kind}{length}\r\n").bytes());
            for item in items {
                item.encode(into);
            }
        };
        match self {
            Self::Ok => into.extend(b"+OK\r\n"),
            Self::Error(text) => into.extend(format!("-{text}\r\n").bytes()),
            Self::Int(number) => into.extend(format!(":{number}\r\n").bytes()),
            Self::Nil => into.extend(b"$-1\r\n"),
            Self::Bulk(bytes) => {
                into.extend(format!("${}\r\n", bytes.len()).bytes());
                into.extend(bytes);
                into.extend(b"\r\n");
            }
            Self::Array(items) => list(into, '*', items.len(), items),
            Self::Map(items) => list(into, '%', items.len() / 2, items),
            Self::Push(items) => list(into, '>', items.len(), items),
        }
    }
}

/// Takes the first whole command from `bytes`. The driver is no hostile client: what is no command is
/// an error of its own.
pub(super) fn take_command(bytes: &mut Vec<u8>) -> Result<Option<Vec<Vec<u8>>>, String> {
    let Some((count, mut at)) = header(bytes, 0, b'*')? else {
        return Ok(None);
    };
    let mut words = Vec::new();
    for _ in 0..count {
        let Some((length, begins)) = header(bytes, at, b'$')? else {
            return Ok(None);
        };
        let Some(word) = bytes.get(begins..begins + length + 2) else {
            return Ok(None);
        };
        if !word.ends_with(b"\r\n") {
            return Err("a word that does not end".to_owned());
        }
        words.push(word[..length].to_vec());
        at = begins + length + 2;
    }
    bytes.drain(..at);
    Ok(Some(words))
}

/// The number behind `kind`, and where the line behind it begins.
fn header(bytes: &[u8], at: usize, kind: u8) -> Result<Option<(usize, usize)>, String> {
    let rest = &bytes[at..];
    let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") else {
        return Ok(None);
    };
    let line = &rest[..end];
    let digits = line.strip_prefix(&[kind]);
    let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
    let number = digits.and_then(|digits| digits.parse().ok());
    let number = number.ok_or_else(|| format!("not a header: {}", line.escape_ascii()))?;
    Ok(Some((number, at + end + 2)))
}
