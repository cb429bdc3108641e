//! Scripts: what servers run, and the same in Rust for nodes in this process.

use std::fmt;
use std::sync::OnceLock;

use super::store::Store;
use super::value::Value;

/// What a [`Script`] does, over a [`Store`]: keys, and arguments.
pub type Twin = fn(&mut Store, &[&[u8]], &[&[u8]]) -> Value;

/// A command or a Lua text, whose variable parts are keys and arguments, and its twin in Rust.
///
/// A test runs each listed script and its twin with random keys, arguments and faults, and compares
/// answers and keys.
pub struct Script {
    name: &'static str,
    code: Code,
    twin: Twin,
    sha: OnceLock<String>,
}

/// What a server is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A command: this word, the keys, and the arguments.
    Command(&'static str),
    /// A Lua text that a server is made to remember when a connection begins. Without keys it has no
    /// effect, whatever its arguments are.
    Loaded(&'static str),
    /// A Lua text that is sent with each call. A server that has forgotten its scripts runs it in its
    /// place among other calls, and a client that never makes the call never sends the text.
    Whole(&'static str),
}

impl Script {
    /// A script with its twin.
    pub const fn new(name: &'static str, code: Code, twin: Twin) -> Self {
        Self {
            name,
            code,
            twin,
            sha: OnceLock::new(),
        }
    }

    /// Its name, for logs and tests.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// What a server is sent.
    pub fn code(&self) -> Code {
        self.code
    }

    /// The Lua text, unless it is a command.
    pub fn text(&self) -> Option<&'static str> {
        match self.code {
            Code::Command(_) => None,
            Code::Loaded(text) | Code::Whole(text) => Some(text),
        }
    }

    /// The name by which a server knows the text.
    pub fn sha(&self) -> &str {
        self.sha.get_or_init(|| {
            let text = self.text().unwrap_or_default();
            sha1_smol::Sha1::from(text).digest().to_string()
        })
    }

    /// Runs the twin.
    pub fn run(&self, store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Value {
        (self.twin)(store, keys, arguments)
    }
}

impl fmt::Debug for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl PartialEq for Script {
    /// Scripts are statics: each is equal to itself alone.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Script {}
