//! What a request may want: one kind of lock.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::model::invalid::Invalid;
use crate::model::resource::Resource;
use crate::model::token::OwnerToken;
use crate::node::Script;
use crate::quorum::kind::Kind as Asked;

use super::Kind;

/// One kind of lock, by what a request says of it. `Display` is how errors name it.
pub(crate) trait Wants: fmt::Display {
    /// The kind as a caller asks the nodes for it.
    fn asked(&self, asking: Asking<'_>) -> Arc<dyn Asked>;

    /// The kind in a word, as a label.
    fn label(&self) -> &'static str;

    /// Checks the values of the kind, and that the request has nothing that it cannot have.
    fn check(&self, _request: &Checked<'_>) -> Result<(), Invalid> {
        Ok(())
    }

    /// The kind as the nodes see it, if that is another one.
    fn on_nodes(&self) -> Option<Kind> {
        None
    }

    /// True if its scripts need commands that not every lock needs: see [`Room::commands`].
    fn needs_more_commands(&self) -> bool {
        false
    }

    /// True if a holder excludes others of its kind in other processes.
    fn excludes_its_like(&self) -> bool {
        true
    }

    /// True if the holder is the only one of the lock's key.
    fn is_alone(&self) -> bool {
        false
    }

    /// True if a holder that is the only one of the lock's key has all that a holder of this kind has.
    fn is_covered_by_being_alone(&self) -> bool {
        false
    }
}

/// What a kind needs to know of a request and its client.
pub(crate) struct Asking<'a> {
    pub(crate) keys: &'a Resource,
    pub(crate) prefix: &'a [u8],
    pub(crate) is_fenced: bool,
    /// The name under which nodes remember that a caller of the client was refused, and for how long. `None` if
    /// no attempt follows.
    pub(crate) waits: Option<(&'a OwnerToken, Duration)>,
}

/// What a kind checks of a request.
pub(crate) struct Checked<'a> {
    pub(crate) resource: &'a Resource,
    pub(crate) fencing: bool,
    pub(crate) once_per: bool,
}

type Key = Arc<[u8]>;

/// What a room has for all nodes.
pub(crate) struct Room {
    pub(crate) scripts: &'static [&'static Script],
    /// Calls without an effect, on the key `key`, of the commands that scripts of this room need beside those of
    /// every lock: Lua, with commas between.
    pub(crate) commands: &'static str,
    /// The beginnings of the keys beside a lock's key, after `redlock:`.
    pub(crate) beside: &'static [&'static [u8]],
    /// Of a lock with one name, the further keys that say who has it, or waits for it.
    pub(crate) keys: fn(&Resource, prefix: &[u8]) -> Vec<Key>,
    /// Its calls, and `golden.txt`.
    #[cfg(test)]
    pub(crate) golden: (fn() -> Vec<super::golden::Golden>, &'static str),
}

impl Room {
    pub(crate) const EMPTY: Self = Self {
        scripts: &[],
        commands: "",
        beside: &[],
        keys: |_, _| Vec::new(),
        #[cfg(test)]
        golden: (Vec::new, ""),
    };
}
