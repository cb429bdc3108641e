//! Replies of a server, as plain values.

use std::fmt;

/// The reply of a server to a command or a script.
// The enum is exhaustive, because a node that passes replies on has to pass on each of them.
#[derive(Clone, PartialEq, Eq)]
pub enum Value {
    /// The value is missing.
    Nil,
    /// A number.
    Int(i64),
    /// A text: any bytes.
    Text(Box<[u8]>),
    /// Several values.
    List(Vec<Value>),
    /// The server refused the call, or a command of the script.
    Error(Box<[u8]>),
}

impl Value {
    /// Returns a text.
    pub fn text(bytes: impl Into<Box<[u8]>>) -> Self {
        Self::Text(bytes.into())
    }

    /// Returns an error.
    pub fn error(text: &str) -> Self {
        Self::Error(text.as_bytes().into())
    }
}

/// True if the server found a key of another type, so something other than a lock has the key.
pub(crate) fn is_wrong_type(error: &[u8]) -> bool {
    error.starts_with(b"WRONGTYPE")
}

/// Writes values without their texts. A text may be an owner token, with which anyone can release the lock.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("Nil"),
            Self::Int(number) => write!(f, "Int({number})"),
            Self::Text(bytes) => write!(f, "Text({} bytes)", bytes.len()),
            Self::List(values) => f.debug_tuple("List").field(values).finish(),
            Self::Error(text) => {
                let code = text.split(|byte| *byte == b' ').next().unwrap_or_default();
                write!(f, "Error({})", String::from_utf8_lossy(code))
            }
        }
    }
}
