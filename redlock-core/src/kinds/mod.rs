//! The kinds of locks. Each kind has a room with its calls, scripts and twins, and the meaning of replies and votes.
#![expect(
    clippy::unnecessary_wraps,
    reason = "twins have one type, also where less would do"
)]

pub(crate) mod any_kind;
pub(crate) mod exclusive;
mod fenced;
pub(crate) mod permits;
mod protocol_args;
pub(crate) mod readers_writers;
mod reserved_keys;
pub(crate) mod runs;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::model::invalid::Invalid;
use crate::model::resource::Resource;
use crate::node::Script;
use crate::quorum::lock_protocol::LockProtocol;
use exclusive::Exclusive;
use permits::AnyPermit;
use readers_writers::{Reader, Writer};

#[cfg(test)]
pub(crate) use exclusive::plain;
pub(crate) use protocol_args::{Advice, ProtocolArgs};
pub(crate) use readers_writers::COMMANDS;

/// The kind of a lock: whom a holder excludes, and how many holders there may be.
///
/// Locks of all kinds on one resource exclude each other by the same key, which for permits is the key of the first
/// permit. Locks of other clients that use `SET key value NX` on this key are excluded too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Exactly one holder. The lock ignores the order in which other kinds let their callers in.
    #[default]
    Plain,
    /// At most this number of holders, each with one of the permits. The first permit has the key of the plain lock.
    Permits(u16),
    /// A reader, which shares the resource with other readers only. Readers that arrive while a writer waits let the
    /// writer go first.
    Read,
    /// Exactly one holder, the writer. While a writer waits, no new reader gets in. When a writer leaves, the readers
    /// that were refused because of it get in before the next writer.
    Write,
}

impl Kind {
    /// Returns the protocol of one acquisition: its calls, and the meaning of their replies.
    pub(crate) fn protocol(self, args: &ProtocolArgs<'_>) -> Arc<dyn LockProtocol> {
        match self {
            Self::Plain => Arc::new(Exclusive::new(args)),
            Self::Permits(1) => Arc::new(Exclusive::new(args).one_of(args.keys.clone(), 0)),
            Self::Permits(count) => Arc::new(AnyPermit::new(count, args)),
            Self::Read => Arc::new(Reader::new(args)),
            Self::Write => Arc::new(Writer::new(args)),
        }
    }

    /// Checks a request's kind, and the parameters that may not go with it. `once_per` is the period of a job.
    pub(crate) fn check(
        self,
        resource: &Resource,
        has_fencing: bool,
        once_per: Option<Duration>,
    ) -> Result<(), Invalid> {
        match self {
            Self::Plain => Ok(()),
            Self::Permits(count) => permits::check(count, resource, has_fencing, once_per),
            Self::Read => readers_writers::check(resource, once_per),
            Self::Write => readers_writers::check(resource, None),
        }
    }

    /// Returns the kind as the nodes see it. A single permit is a plain lock.
    pub(crate) fn on_nodes(self) -> Self {
        if self == Self::Permits(1) {
            return Self::Plain;
        }
        self
    }

    /// True if a node's user needs more permissions than other kinds require.
    /// [`NodeHealth::mend`](crate::node::NodeHealth::mend) names the missing ones.
    pub fn needs_more_commands(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// Returns the kind as one word, which labels metrics.
    pub fn label(self) -> &'static str {
        match self.on_nodes() {
            Self::Plain => "plain",
            Self::Permits(_) => "permits",
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// True if a call that wants a lease of kind `wanted` may share a lease of this kind. Such a lease has all that the
    /// call wants.
    pub fn covers(self, wanted: Self) -> bool {
        let (has, wanted) = (self.on_nodes(), wanted.on_nodes());
        let is_alone = matches!(has, Self::Plain | Self::Write);
        has == wanted || is_alone && !matches!(wanted, Self::Permits(_))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain => f.write_str("a plain lock"),
            Self::Permits(count) => write!(f, "one of {count} permits"),
            Self::Read => f.write_str("a read lock"),
            Self::Write => f.write_str("a write lock"),
        }
    }
}

/// All scripts. Connections load these scripts, and tests run them.
pub(crate) static SCRIPTS: [&Script; 15] = [
    &exclusive::scripts::SET,
    &exclusive::scripts::ACQUIRE_ALL,
    &exclusive::scripts::EXTEND,
    &exclusive::scripts::RELEASE,
    &exclusive::scripts::MANY,
    &exclusive::scripts::MANY_FENCED,
    &permits::scripts::ACQUIRE_PERMIT,
    &permits::scripts::LEAVE_QUEUE,
    &readers_writers::scripts::ACQUIRE_READ,
    &readers_writers::scripts::ACQUIRE_WRITE,
    &readers_writers::scripts::EXTEND_READ,
    &readers_writers::scripts::RELEASE_SHARED,
    &runs::REMEMBER,
    &any_kind::scripts::PEEK,
    &any_kind::scripts::FORCE_RELEASE,
];

/// Returns the keys that say who holds `key`, by any kind of lock. `key` is one name, with the key prefix `prefix`.
pub(crate) fn every_key(key: &Resource, prefix: &[u8]) -> Resource {
    // The first permit has the plain lock's key, so these cover both.
    let mut keys = permits::keys_of(key, permits::MAX_PERMITS, prefix);
    let [readers, ..] = readers_writers::shared_keys(key, prefix);
    keys.push(readers);
    Resource::of(keys)
}

/// A Lua function that tries harmless commands, to find out which the user may run.
pub(crate) const DENIED: &str = include_str!("denied.lua");
