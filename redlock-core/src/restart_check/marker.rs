//! What a node's marker says, and how.

use std::time::Duration;

use crate::model::limits::MAX_TTL;
use crate::model::resource::RESERVED_PREFIX;

/// The word to which an operator sets a node's marker if no lock is held.
pub(super) const IDLE: &[u8] = b"idle";

/// Why a marker was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The set is new, and its other nodes are not all marked yet. Nobody votes under it.
    Opening,
    /// The set was new.
    New,
    /// The operator said that no lock is held.
    Idle,
    /// The server process is another one than before.
    Restarted,
    /// The server process is the one from before, without its marker.
    Flushed,
    /// There is something else in the marker's place, or its times make no sense.
    Invalid,
    /// No marker, beside nodes that have one.
    Late,
    /// No marker, under a strict restart check.
    Strict,
    /// The clock stepped ahead.
    Stepped,
}

impl Cause {
    /// Each cause, in the order of the enum, with its word in a marker and its text for people.
    const ALL: [(Self, &str, &str); 9] = [
        (Self::Opening, "opening", "its set is being opened"),
        (Self::New, "new", "its set was new"),
        (Self::Idle, "idle", "its operator says that no lock is held"),
        (
            Self::Restarted,
            "restarted",
            "it restarted, or another server has taken its place",
        ),
        (Self::Flushed, "flushed", "it was flushed"),
        (
            Self::Invalid,
            "invalid",
            "its marker is not valid, or its clock was set back",
        ),
        (
            Self::Late,
            "late",
            "it is blank, and others of its set are not",
        ),
        (
            Self::Strict,
            "strict",
            "it has no marker, and the restart check is strict",
        ),
        (Self::Stepped, "stepped", "its clock stepped ahead"),
    ];

    pub(super) const fn text(self) -> &'static str {
        Self::ALL[self as usize].2
    }

    const fn word(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    fn parse(word: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known, _)| *known == word);
        found.map(|(cause, ..)| *cause)
    }
}

/// The marker on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The node's process when the marker was written; [`Marker::UNKNOWN`] if the client did not know
    /// it.
    pub run_id: String,
    /// When it was written, since the Unix epoch on the node's own clock.
    pub(super) since: Duration,
    /// Why it was written.
    pub(super) cause: Cause,
    /// The longest `max_ttl` of the processes that use the node.
    pub(super) max_ttl: Duration,
    /// The end of the node's quarantine, since the Unix epoch on the node's own clock; zero if there is none.
    pub until: Duration,
}

/// The first word of a marker's text.
const VERSION: &str = "1";

impl Marker {
    /// Stands for the `run_id` if the server's ACL hides it.
    pub const UNKNOWN: &str = "?";

    /// True if `other` is of the same process, and nothing was forgotten in between. A `max_ttl` that was raised makes
    /// no other marker.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.run_id == other.run_id && self.since == other.since
    }

    /// The marker's text: `1 <run_id> <since ms> <cause> <max_ttl ms> <until ms>`.
    pub fn to_bytes(&self) -> Vec<u8> {
        let [since, max_ttl, until] =
            [self.since, self.max_ttl, self.until].map(|it| it.as_millis());
        let (run_id, cause) = (&self.run_id, self.cause.word());
        format!("{VERSION} {run_id} {since} {cause} {max_ttl} {until}").into_bytes()
    }

    /// Reads a marker's text. `None` for anything else, which tells nothing of the node, and is to
    /// be taken like the marker of another process.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let words: Vec<&str> = std::str::from_utf8(bytes).ok()?.split(' ').collect();
        let [VERSION, run_id, since, cause, max_ttl, until] = words[..] else {
            return None;
        };
        let millis = |word: &str| word.parse().ok().map(Duration::from_millis);
        let marker = Self {
            run_id: run_id.to_owned(),
            since: millis(since)?,
            cause: Cause::parse(cause)?,
            max_ttl: millis(max_ttl)?,
            until: millis(until)?,
        };
        (!run_id.is_empty() && marker.max_ttl <= MAX_TTL).then_some(marker)
    }
}

/// What is in the marker's place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// The operator's word that no lock is held.
    Word,
    Garbage,
    Marker(Marker),
}

impl Found {
    pub(super) fn of(bytes: Option<&[u8]>) -> Self {
        match bytes {
            None => Self::Nothing,
            Some(IDLE) => Self::Word,
            Some(bytes) => Marker::parse(bytes).map_or(Self::Garbage, Self::Marker),
        }
    }

    pub(super) fn marker(&self) -> Option<&Marker> {
        match self {
            Self::Marker(marker) => Some(marker),
            _ => None,
        }
    }
}

/// The key of the marker on every node, given the configured key prefix.
pub fn marker_key(prefix: &[u8]) -> Vec<u8> {
    [prefix, RESERVED_PREFIX, b"marker"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        for (cause, word, _) in Cause::ALL {
            let marker = Marker {
                run_id: "abc".into(),
                since: Duration::from_millis(1_700_000_000_123),
                cause,
                max_ttl: Duration::from_secs(9),
                until: Duration::from_millis(1_700_000_000_500),
            };
            let text = format!("1 abc 1700000000123 {word} 9000 1700000000500");
            assert_eq!(marker.to_bytes(), text.as_bytes());
            assert_eq!(Marker::parse(text.as_bytes()), Some(marker));
        }
    }

    #[test]
    fn anything_else_is_no_marker() {
        for text in [
            "",
            "idle",
            "1 abc 5",
            "2 abc 3 new 9 5",
            "1  3 new 9 5",
            "1 abc 3 unheard-of 9 5",
            "1 abc 3 new 9 ",
            "1 abc 3 new 9 5 6",
            "1 abc -3 new 9 5",
            "1 abc 3 new 31536000001 5",
            "1 abc 3 new 9 18446744073709551616",
        ] {
            assert_eq!(Marker::parse(text.as_bytes()), None, "{text}");
        }
        assert_eq!(Marker::parse(b"1 \xff 3 new 9 5"), None);
    }

    #[test]
    fn the_markers_key_is_below_the_prefix() {
        assert_eq!(marker_key(b""), b"redlock:marker");
        assert_eq!(marker_key(b"shop:"), b"shop:redlock:marker");
    }
}
