//! The key of another holder.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::debug::debug_in_part;
use crate::model::brief::Brief;
use crate::model::note::Note;
use crate::model::resource::Resource;
use crate::model::token;

/// The value of a lock's key while readers hold the lock. The value keeps out every client that takes the lock with
/// `SET key value NX`. Another key lists the readers, so this value is not an owner token.
pub const READERS_MARKER: &[u8] = b"redlock:readers";

/// The end of an error about a key that holds no lock. The text does not advise to delete the key, because it may be
/// somebody's data.
const NO_LOCK: &str = "that is no lock; choose another resource or `key_prefix`";

/// The key of another holder, as far as it is known.
#[derive(Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holding {
    /// The holder's token, or the beginning of another value. A token is enough to release the lock, so the value is
    /// never shown; see [`Self::owner`].
    pub(crate) value: Option<Arc<[u8]>>,
    /// The key's remaining time, as far as the node reported it.
    pub remaining: Remaining,
    /// The index of the key among several keys, from 0, if the node reported it.
    pub place: Option<u16>,
    /// True if the node granted us one of several locks, but most nodes granted another one.
    pub(crate) has_strayed: bool,
    /// The reason why the caller has to wait.
    pub obstacle: Obstacle,
}

/// The reason why an acquisition is refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Obstacle {
    /// A client holds the lock alone.
    #[default]
    Holder,
    /// Readers hold the lock.
    Readers,
    /// A waiting writer goes first. No holder keeps the reader out.
    WaitingWriter,
    /// Readers that a writer kept out go first. The lock is free.
    ReadersTurn,
    /// Clients that have waited for longer go first. A permit is free.
    EarlierClients,
}

impl Obstacle {
    /// True if the lock may be free, but other callers go first.
    pub(crate) const fn is_advice(self) -> bool {
        matches!(
            self,
            Self::WaitingWriter | Self::ReadersTurn | Self::EarlierClients
        )
    }
}

/// The remaining time of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Remaining {
    /// The node reported no time.
    #[default]
    Unknown,
    /// The key expires after this time.
    Expires(Duration),
    /// The key has no expiry. Locks of Redlock clients have one.
    Never,
    /// The key is not a string. Locks of Redlock clients are strings.
    NotALock,
}

impl Holding {
    /// Returns a key that holds `value`, for an unknown time. A value that is longer than any token is cut.
    pub fn by(value: impl AsRef<[u8]>) -> Self {
        let value = value.as_ref();
        let kept = value.len().min(token::LONGEST_TOKEN + 1);
        let obstacle = if value == READERS_MARKER {
            Obstacle::Readers
        } else {
            Obstacle::Holder
        };
        Self {
            value: Some(value[..kept].into()),
            obstacle,
            ..Self::default()
        }
    }

    /// Returns the advice to wait for callers that go first. A waiting `writer` is named by its id.
    pub(crate) fn advice(obstacle: Obstacle, writer: Option<&[u8]>) -> Self {
        Self {
            value: writer.map(Into::into),
            obstacle,
            ..Self::default()
        }
    }

    /// Returns a key with an unknown value, and this remaining time.
    pub fn unknown(remaining: Remaining) -> Self {
        Self {
            remaining,
            ..Self::default()
        }
    }

    /// True if the two keys may belong to one holder. Advice matches any key, because a caller that goes first holds
    /// none.
    pub(crate) fn may_be_the_same(&self, other: &Self) -> bool {
        if self.obstacle.is_advice() || other.obstacle.is_advice() {
            return true;
        }
        match (&self.value, &other.value) {
            (Some(one), Some(two)) => one == two,
            _ => true,
        }
    }

    /// Returns the holder's `host/pid`, if the token is of this library's format.
    pub fn owner(&self) -> Option<&str> {
        token::owner_of(self.value.as_deref()?)
    }

    /// Returns the holder's note, if its token has one.
    pub fn note(&self) -> Option<Note> {
        token::note_of(self.value.as_deref()?)
    }
}

// The value is left out, because it is the right to release the lock.
debug_in_part!(Holding, it => owner: it.owner(), remaining: it.remaining);

/// Writes ``held by web-7/3121 (`job 42`) for 12 s more``.
impl fmt::Display for Holding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_with_name(None, f)
    }
}

impl Holding {
    /// Writes the text of `Display`, with the key's `name` if it is one of several.
    pub(crate) fn fmt_with_name(
        &self,
        name: Option<&Resource>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        match self.obstacle {
            Obstacle::Holder | Obstacle::Readers => {
                f.write_str("held ")?;
                self.fmt_by(name, f)
            }
            Obstacle::WaitingWriter => {
                let owner = self.owner().unwrap_or("another client");
                write!(f, "left to a writer of {owner}, which waits for it")
            }
            Obstacle::ReadersTurn => f.write_str("left to readers that a writer kept out"),
            Obstacle::EarlierClients => {
                f.write_str("left to other clients, which have waited for longer")
            }
        }
    }

    /// True if the value is longer than any owner token.
    fn is_too_long(&self) -> bool {
        let value = self.value.as_ref();
        value.is_some_and(|value| value.len() > token::LONGEST_TOKEN)
    }

    /// Writes the text without "held".
    pub(crate) fn fmt_by(
        &self,
        name: Option<&Resource>,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        match self.obstacle {
            Obstacle::Readers => f.write_str("by readers")?,
            _ if self.is_too_long() => f.write_str("by a value that is too long for a token")?,
            _ => write!(f, "by {}", self.owner().unwrap_or("another client"))?,
        }
        if let Some(name) = name {
            write!(f, " (name `{name}`)")?;
        }
        if let Some(note) = self.note() {
            write!(f, " (`{note}`)")?;
        }
        self.fmt_time(f)?;
        let is_said = matches!(self.remaining, Remaining::Never | Remaining::NotALock);
        if self.is_too_long() && !is_said {
            write!(f, ": {NO_LOCK}")?;
        }
        Ok(())
    }

    /// Writes the key's remaining time.
    pub(crate) fn fmt_time(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.remaining {
            Remaining::Expires(left) => write!(f, " for {} more", Brief(left)),
            Remaining::Never => write!(f, ", by a key that never expires: {NO_LOCK}"),
            Remaining::NotALock => write!(f, ", by a key that is not a string: {NO_LOCK}"),
            Remaining::Unknown => Ok(()),
        }
    }
}
