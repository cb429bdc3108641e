//! Scripts that servers run, and their twins in Rust for nodes in this process.

use std::fmt;
use std::sync::OnceLock;

use super::store::Store;
use super::value::Value;

/// A [`Script`] in Rust. It receives a [`Store`], keys and arguments, and returns the reply. An `Err` is a reply that
/// ends the script early.
pub type Twin = fn(&mut Store, &[&[u8]], &[&[u8]]) -> Result<Value, Value>;

/// A command or a Lua text, and its twin in Rust. Keys and arguments are its only variable parts.
///
/// A test runs each listed script and its twin with random keys, arguments and faults, and compares replies and keys.
pub struct Script {
    /// The script's name, for logs and tests.
    pub name: &'static str,
    /// The command or the Lua text for a server.
    pub code: Code,
    twin: Twin,
    /// The shapes of the script's keys and of its arguments; see [`Script::shaped`].
    pub shape: [&'static str; 2],
    pub(crate) checks_commands: bool,
    sha: OnceLock<String>,
}

/// A command or a Lua text for a server.
// The enum is exhaustive, because a node for a server has to send each form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    /// A command: its name, and the options between the first argument and the others. The keys follow the name. The
    /// last text is the same command in Lua.
    Command(&'static str, &'static [&'static str], &'static str),
    /// A Lua text that each new connection loads into the server. Without keys the text has no effect, whatever its
    /// arguments are.
    Loaded(&'static str),
    /// A Lua text that each call sends. A server that has forgotten its scripts still runs it in order with other
    /// calls. A client that never makes the call never sends the text.
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

    /// Makes a script of a [`Code::Command`].
    pub const fn command(
        name: &'static str,
        word: &'static str,
        options: &'static [&'static str],
        in_lua: &'static str,
        twin: Twin,
    ) -> Self {
        Self::new(name, Code::Command(word, options, in_lua), twin)
    }

    /// Makes a script of a [`Code::Loaded`].
    pub const fn loaded(name: &'static str, text: &'static str, twin: Twin) -> Self {
        Self::new(name, Code::Loaded(text), twin)
    }

    /// Makes a script of a [`Code::Whole`].
    pub const fn whole(name: &'static str, text: &'static str, twin: Twin) -> Self {
        Self::new(name, Code::Whole(text), twin)
    }

    /// Returns the script with a word for each of its keys and arguments. The test of twins draws keys and arguments by
    /// these words. A `+` after a word means one or several, and the same number for each word with a `+`. A `?` means
    /// that the word may be left out. Words in brackets come together, or are left out together.
    #[must_use]
    pub const fn shaped(mut self, keys: &'static str, arguments: &'static str) -> Self {
        self.shape = [keys, arguments];
        self
    }

    /// Marks a script that tries some commands before it writes. Other locks do without these commands, so a server's
    /// user may lack the permission for them. The script skips the try if its last argument is `tried`. A connection
    /// adds that argument if its user may run the commands.
    #[must_use]
    pub const fn checking_commands(mut self) -> Self {
        self.checks_commands = true;
        self
    }

    /// Returns the Lua text, or `None` for a command.
    pub fn text(&self) -> Option<&'static str> {
        match self.code {
            Code::Command(..) => None,
            Code::Loaded(text) | Code::Whole(text) => Some(text),
        }
    }

    /// Returns a Lua text with the same effect that reads only the beginnings of values. Values may be huge.
    pub fn in_brief(&self) -> String {
        let (Code::Command(.., text) | Code::Loaded(text) | Code::Whole(text)) = self.code;
        [include_str!("brief.lua"), text].concat()
    }

    /// Returns the SHA-1 by which a server knows the text.
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
    /// Compares addresses, because each script is a static.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Script {}
