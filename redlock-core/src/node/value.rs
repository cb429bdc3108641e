//! What a server answers.

/// The answer of a server to a command or a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Nothing is there.
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
    /// A text.
    pub fn text(bytes: impl Into<Box<[u8]>>) -> Self {
        Self::Text(bytes.into())
    }

    /// An error.
    pub fn error(text: &str) -> Self {
        Self::Error(text.as_bytes().into())
    }
}
