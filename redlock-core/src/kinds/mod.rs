//! The kinds of locks. A room has all of its kind: its calls, its scripts with their twins, what a reply means, and
//! how a vote counts.
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

/// The kind of a lock: which other holders its holder excludes, and how many holders it has at a time.
///
/// All kinds of one resource exclude each other by the same key (of permits, that of the first one), also
/// locks of other clients that use `SET key value NX`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// The holder is the only one. The lock takes no part in the order of any other kind.
    #[default]
    Exclusive,
    /// The resource has this number of permits, and each holder has one of them. The key of the first permit is
    /// that of the plain lock.
    Permits(u16),
    /// The holder shares the resource with other readers only. Readers that come while
    /// a writer waits let the writer go first.
    Read,
    /// The holder is the only one. While it waits, no new reader goes in; when it leaves, the readers
    /// that were refused meanwhile go in before the next writer.
    Write,
}

impl Kind {
    /// Returns the calls and the meaning of their replies, for one acquisition.
    pub(crate) fn protocol(self, args: &ProtocolArgs<'_>) -> Arc<dyn LockProtocol> {
        match self {
            Self::Exclusive => Arc::new(Exclusive::new(args)),
            Self::Permits(1) => Arc::new(Exclusive::new(args).one_of(args.keys.clone(), 0)),
            Self::Permits(count) => Arc::new(AnyPermit::new(count, args)),
            Self::Read => Arc::new(Reader::new(args)),
            Self::Write => Arc::new(Writer::new(args)),
        }
    }

    /// Checks the values of the kind, and refuses what a request of it cannot have. `once_per` is the period of a job.
    pub(crate) fn check(
        self,
        resource: &Resource,
        has_fencing: bool,
        once_per: Option<Duration>,
    ) -> Result<(), Invalid> {
        match self {
            Self::Exclusive => Ok(()),
            Self::Permits(count) => permits::check(count, resource, has_fencing, once_per),
            Self::Read => readers_writers::check(resource, once_per),
            Self::Write => readers_writers::check(resource, None),
        }
    }

    /// Returns the kind as the nodes see it: one permit is the plain lock.
    pub(crate) fn on_nodes(self) -> Self {
        if self == Self::Permits(1) {
            return Self::Exclusive;
        }
        self
    }

    /// True if a node's user needs more permissions than for other kinds:
    /// [`NodeHealth::mend`](crate::node::NodeHealth::mend) names those that are missing.
    pub fn needs_more_commands(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }

    /// Returns the kind in a word, as a label of a metric.
    pub fn label(self) -> &'static str {
        match self.on_nodes() {
            Self::Exclusive => "plain",
            Self::Permits(_) => "permits",
            Self::Read => "read",
            Self::Write => "write",
        }
    }

    /// True if a lease of this kind may be shared by a call that wants a lease of the kind `wanted`: it has
    /// what the call wants.
    pub fn covers(self, wanted: Self) -> bool {
        let (has, wanted) = (self.on_nodes(), wanted.on_nodes());
        let is_alone = matches!(has, Self::Exclusive | Self::Write);
        has == wanted || is_alone && !matches!(wanted, Self::Permits(_))
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exclusive => f.write_str("a plain lock"),
            Self::Permits(count) => write!(f, "one of {count} permits"),
            Self::Read => f.write_str("a read lock"),
            Self::Write => f.write_str("a write lock"),
        }
    }
}

/// All scripts, for the connections that load them and for the tests that run them.
pub(crate) static SCRIPTS: [&Script; 14] = [
    &exclusive::scripts::SET,
    &exclusive::scripts::ACQUIRE_ALL,
    &exclusive::scripts::EXTEND,
    &exclusive::scripts::RELEASE,
    &exclusive::scripts::MANY,
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

/// Returns the keys of every kind of lock on the one name of `key`, which say who has it. `prefix` is its key prefix.
pub(crate) fn every_key(key: &Resource, prefix: &[u8]) -> Resource {
    // The first permit has the plain lock's key.
    let mut keys = permits::keys_of(key, permits::MAX_PERMITS, prefix);
    let [readers, ..] = readers_writers::shared_keys(key, prefix);
    keys.push(readers);
    Resource::of(keys)
}

/// A Lua function that calls commands without an effect, to see what the user may run.
pub(crate) const DENIED: &str = include_str!("denied.lua");
