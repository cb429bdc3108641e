//! Scripts: what servers run, and the same in Rust for nodes in this process.

use std::fmt;
use std::sync::OnceLock;

use super::store::Store;
use super::value::Value;

/// A [`Script`] in Rust, over a [`Store`], with its keys and arguments. An `Err` ends the script with
/// this reply.
pub type Twin = fn(&mut Store, &[&[u8]], &[&[u8]]) -> Result<Value, Value>;

/// A command or a Lua text, whose variable parts are keys and arguments, and its twin in Rust.
///
/// A test runs each listed script and its twin with random keys, arguments and faults, and compares
/// answers and keys.
pub struct Script {
    /// The script's name, for logs and tests.
    pub name: &'static str,
    /// The text that a server is sent.
    pub code: Code,
    twin: Twin,
    /// Words for the script's keys, and for its arguments.
    pub shape: [&'static str; 2],
    pub(crate) checks_commands: bool,
    sha: OnceLock<String>,
}

/// The text that a server is sent.
// It is exhaustive, because a node for a server has to send each form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A command: this word, the keys, the first argument, these options, and the other arguments. The last text is the
    /// same in Lua.
    Command(&'static str, &'static [&'static str], &'static str),
    /// A Lua text that a server is made to remember when a connection begins. Without keys it has no
    /// effect, whatever its arguments are.
    Loaded(&'static str),
    /// A Lua text that is sent with each call. A server that has forgotten its scripts runs it in its
    /// place among other calls, and a client that never makes the call never sends the text.
    Whole(&'static str),
}

impl Script {
    const fn new(name: &'static str, code: Code, twin: Twin) -> Self {
        Self {
            name,
            code,
            twin,
            shape: [""; 2],
            checks_commands: false,
            sha: OnceLock::new(),
        }
    }

    /// See [`Code::Command`].
    pub const fn command(
        name: &'static str,
        word: &'static str,
        options: &'static [&'static str],
        in_lua: &'static str,
        twin: Twin,
    ) -> Self {
        Self::new(name, Code::Command(word, options, in_lua), twin)
    }

    /// See [`Code::Loaded`].
    pub const fn loaded(name: &'static str, text: &'static str, twin: Twin) -> Self {
        Self::new(name, Code::Loaded(text), twin)
    }

    /// See [`Code::Whole`].
    pub const fn whole(name: &'static str, text: &'static str, twin: Twin) -> Self {
        Self::new(name, Code::Whole(text), twin)
    }

    /// Returns the same script, with a word for each of its keys and arguments, from which the test of twins draws
    /// them. A `+` behind a word means one or several, as many as of the others with a `+`, a `?` that it may be left
    /// out. The words in brackets come together or not at all.
    #[must_use]
    pub const fn shaped(mut self, keys: &'static str, arguments: &'static str) -> Self {
        self.shape = [keys, arguments];
        self
    }

    /// Returns the same for a script that tries commands which not every lock needs before it writes, unless its last
    /// argument is `tried`. A connection adds that word if its user may run them.
    #[must_use]
    pub const fn checking_commands(mut self) -> Self {
        self.checks_commands = true;
        self
    }

    /// Returns the Lua text, unless it is a command.
    pub fn text(&self) -> Option<&'static str> {
        match self.code {
            Code::Command(..) => None,
            Code::Loaded(text) | Code::Whole(text) => Some(text),
        }
    }

    /// Returns a Lua text that does the same and reads only the beginnings of values, which may be huge.
    pub fn in_brief(&self) -> String {
        let (Code::Command(.., text) | Code::Loaded(text) | Code::Whole(text)) = self.code;
        [include_str!("brief.lua"), text].concat()
    }

    /// Returns the name by which a server knows the text.
    pub fn sha(&self) -> &str {
        self.sha.get_or_init(|| {
            let text = self.text().unwrap_or_default();
            sha1_smol::Sha1::from(text).digest().to_string()
        })
    }

    /// Runs the twin.
    pub fn run(&self, store: &mut Store, keys: &[&[u8]], arguments: &[&[u8]]) -> Value {
        match (self.twin)(store, keys, arguments) {
            Ok(answer) | Err(answer) => answer,
        }
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
