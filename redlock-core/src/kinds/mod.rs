//! The kinds of locks. A room has all of its kind: what a caller asks, its scripts with their twins, what a reply
//! means, and how a vote counts.
#![expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "twins have one type, and so have functions that read replies, also where less would do"
)]

pub(crate) mod exclusive;
pub(crate) mod fenced;
#[cfg(test)]
#[path = "tests/golden.rs"]
pub(crate) mod golden;
pub(crate) mod looks;
pub(crate) mod permits;
pub(crate) mod readers_writers;
mod reserved;
pub(crate) mod runs;
mod wants;
mod words;

use std::fmt;
use std::sync::Arc;

use crate::model::invalid::Invalid;
use crate::model::resource::Resource;
use crate::node::Script;
use crate::quorum::kind::Kind as Asked;
pub(crate) use exclusive::plain;
pub(crate) use wants::{Asking, Checked, Room, Wants};

/// Makes [`Kind`] and the list of rooms. A row is a room, and the kinds that it has: of each its documentation, its
/// name with its value, and the type that implements [`Wants`].
macro_rules! rooms {
    ($(
        $room:ident {
            $( $(#[$doc:meta])+ $kind:ident $(($value:ident: $type:ty))? = $wants:ident; )*
        }
    )+) => {
        /// The kind of a lock: which other holders its holder excludes, and how many holders it has at a time.
        ///
        /// All kinds of one resource exclude each other by the same key (of permits, that of the first one), also
        /// locks of other clients that use `SET key value NX`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Kind {
            $($( $(#[$doc])+ $kind $(($type))?, )*)+
        }

        impl Kind {
            fn with<T>(self, with: impl FnOnce(&(dyn Wants + 'static)) -> T) -> T {
                match self {
                    $($( Self::$kind $(($value))? => with(&$room::$wants $(($value))?), )*)+
                }
            }
        }

        static ROOMS: &[&Room] = &[$( &$room::ROOM, )+];
    };
}

rooms! {
    exclusive {
        /// The holder is the only one. The lock takes no part in the order of any other kind.
        #[default]
        Exclusive = Plain;
    }
    permits {
        /// The resource has this number of permits, and each holder has one of them. The key of the first permit is
        /// that of the plain lock.
        Permits(count: u16) = Permits;
    }
    readers_writers {
        /// The holder shares the resource with other readers only. Readers that come while
        /// a writer waits let the writer go first.
        Read = Read;
        /// The holder is the only one. While it waits, no new reader goes in; when it leaves, the readers
        /// that were refused meanwhile go in before the next writer.
        Write = Write;
    }
    fenced {}
    runs {}
    looks {}
}

impl Kind {
    /// The kind as a caller asks the nodes for it.
    pub(crate) fn asked(self, asking: Asking<'_>) -> Arc<dyn Asked> {
        self.with(|wants| wants.asked(asking))
    }

    /// Checks what a request of this kind cannot have.
    pub(crate) fn check(self, request: &Checked<'_>) -> Result<(), Invalid> {
        self.with(|wants| wants.check(request))
    }

    /// The kind as the nodes see it: one permit is the plain lock.
    pub(crate) fn on_nodes(self) -> Self {
        self.with(Wants::on_nodes).unwrap_or(self)
    }

    /// True if a holder excludes others of its kind in other processes.
    pub(crate) fn excludes_its_like(self) -> bool {
        self.with(Wants::excludes_its_like)
    }

    /// True if a node's user needs more permissions than for other kinds:
    /// [`NodeHealth::mend`](crate::node::NodeHealth::mend) names those that are missing.
    pub fn needs_more_commands(self) -> bool {
        self.with(Wants::needs_more_commands)
    }

    /// The kind in a word, as a label of a metric.
    pub fn label(self) -> &'static str {
        self.on_nodes().with(Wants::label)
    }

    /// True if a lease of this kind may be shared by a call that wants a lease of the kind `wanted`: it has
    /// what the call wants.
    pub fn covers(self, wanted: Self) -> bool {
        let (has, wants) = (self.on_nodes(), wanted.on_nodes());
        let is_alone_enough = wants.with(Wants::is_covered_by_being_alone);
        has == wants || has.with(Wants::is_alone) && is_alone_enough
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with(|wants| wants.fmt(f))
    }
}

/// All scripts, for the connections that load them and for the tests that run them.
pub(crate) fn scripts() -> impl Iterator<Item = &'static Script> {
    ROOMS.iter().flat_map(|room| room.scripts).copied()
}

/// The keys of every kind of lock on the one name of `key`.
pub(crate) fn every_key(key: &Resource, prefix: &[u8]) -> Resource {
    let keys = key.shared_names().iter().cloned();
    let rooms = ROOMS.iter().flat_map(|room| (room.keys)(key, prefix));
    Resource::of(keys.chain(rooms).collect())
}

/// The beginnings of all keys beside a lock's key, after `redlock:`.
fn beside() -> impl Iterator<Item = &'static [u8]> {
    ROOMS.iter().flat_map(|room| room.beside).copied()
}

/// A Lua function that calls commands without an effect, to see what the user may run.
pub(crate) const DENIED: &str = include_str!("denied.lua");

/// See [`Room::commands`].
pub(crate) fn commands() -> String {
    let commands = ROOMS.iter().map(|room| room.commands);
    let commands: Vec<_> = commands.filter(|commands| !commands.is_empty()).collect();
    commands.join(",")
}
