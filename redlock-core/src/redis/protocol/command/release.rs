//! The release of one key by a command of newer servers. It costs the server less than the script, and
//! does the same.

use crate::node::operation::{Operation, Want};
use crate::redis::protocol::wire::{Value, pack};

use super::{Encoding, is_refusal};

/// A command that deletes a key if it has a value. It answers 1 if it did, and 0 if the key is another
/// holder's or is missing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::redis) enum CompareAndDelete {
    /// `DELIFEQ key value`, of Valkey 9.0 and later.
    DelIfEq,
    /// `DELEX key IFEQ value`, of Redis 8.4 and later.
    DelEx,
}

impl CompareAndDelete {
    /// The command of the server that calls itself `server` in its greeting.
    pub(in crate::redis) fn of(server: &[u8], version: (u32, u32)) -> Option<Self> {
        match server {
            b"valkey" if version >= (9, 0) => Some(Self::DelIfEq),
            b"redis" if version >= (8, 4) => Some(Self::DelEx),
            _ => None,
        }
    }

    /// The command on a key that never exists. Its answer shows whether the server's ACL allows it.
    pub(in crate::redis) fn trial(self, key_prefix: &[u8]) -> Vec<u8> {
        self.encode(&[key_prefix, b"redlock:permissions"].concat(), b"")
    }

    pub(super) fn encode(self, key: &[u8], value: &[u8]) -> Vec<u8> {
        match self {
            Self::DelIfEq => pack([b"DELIFEQ", key, value].into_iter()),
            Self::DelEx => pack([b"DELEX", key, b"IFEQ", value].into_iter()),
        }
    }
}

impl Encoding {
    /// The command that `operation` is sent as, if the script of releases would only compare and delete one
    /// key.
    pub(in crate::redis) fn compare_and_delete(
        &self,
        operation: &Operation,
    ) -> Option<CompareAndDelete> {
        let is_plain = matches!(operation.want(), Want::Release { .. })
            && operation.sharing().is_none()
            && operation.keys().names().len() == 1;
        self.release.filter(|_| is_plain)
    }
}

/// True if the error that a [trial](CompareAndDelete::trial) gets shows that the command is known and allowed:
/// the key is another server's of the Cluster, or the ACL forbids the key. What is not understood shows
/// nothing.
pub(in crate::redis) fn is_command_allowed(error: &[u8]) -> bool {
    error.starts_with(b"MOVED ")
        || error.starts_with(b"NOPERM ") && says(error, b"permissions to access")
}

/// True if the answer to a release by such a command says nothing of the script: the server, or a proxy, does
/// not know the command, or the ACL forbids it. An ACL that forbids the key, and a server that serves nothing
/// at present, refuse both.
pub(in crate::redis) fn is_command_refused(value: &Value<'_>) -> bool {
    let Value::Error(text) = value else {
        return false;
    };
    !(is_refusal(text) || is_of_another_type(text))
        || text.starts_with(b"NOPERM") && says(text, b"permissions to run the")
}

/// True if the error says that the key exists and is not a string, so it is no lock of this library. `DELEX`
/// has a text of its own for that.
pub(super) fn is_of_another_type(text: &[u8]) -> bool {
    text.starts_with(b"WRONGTYPE") || text.starts_with(b"ERR Key should be of string type")
}

fn says(text: &[u8], words: &[u8]) -> bool {
    text.windows(words.len()).any(|part| part == words)
}
