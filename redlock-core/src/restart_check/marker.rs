//! Markers: their text, and their causes.

use std::borrow::Cow;
use std::time::Duration;

use super::{CLOCK_WINDOW, CheckAnswer};
use crate::model::limits::MAX_TTL;
use crate::model::resource::RESERVED_PREFIX;
use crate::node::WIRE_FORMAT;
use crate::quorum::fencing::{BLOCK_SLACK, HINT_WINDOW};

/// The cause for a node of a new set, in which other nodes may still be blank. A node with this cause does not vote.
pub(super) const OPENING: &str = "opening";
/// The cause for a node of a set that was new. The node may vote.
pub(super) const NEW: &str = "new";
/// The word that an operator sets in the marker's place: no lock is held. It is also the cause of the marker that
/// replaces the word.
pub(super) const IDLE: &str = "idle";
pub(super) const RESTARTED: &str = "it restarted, or another server has taken its place";
pub(super) const FLUSHED: &str = "it was flushed";
pub(super) const INVALID: &str = "its marker is not valid, or its clock was set back";
pub(super) const LATE: &str = "it has no marker, but other nodes of its set have one";
pub(super) const STRICT: &str = "it has no marker, and the restart check is strict";
pub(super) const FOREIGN: &str = "its set was used with another wire format";
pub(super) const STEPPED: &str = "its clock stepped ahead";

/// The marker on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Marker {
    /// The `run_id` of the node at the time of the write; [`Marker::UNKNOWN`] if hidden.
    pub run_id: String,
    /// The time of the write, since the Unix epoch, by the node's own clock. A quarantine begins at this time.
    pub since: Duration,
    /// The longest `max_ttl` of the clients that use the node.
    pub max_ttl: Duration,
    /// The reason for the write: `opening`, `new`, `idle`, or a quarantine's cause in words.
    pub cause: Cow<'static, str>,
}

impl Marker {
    /// Replaces the `run_id` if the server's ACL hides it.
    pub const UNKNOWN: &str = "?";

    /// True if the marker names the node's present process, or if that process is unknown.
    pub(super) fn is_of(&self, check: &CheckAnswer<'_>) -> bool {
        check.run_id.is_none_or(|run_id| run_id == self.run_id)
    }

    /// Returns the marker's text: `<wire format> <until ms> <run_id> <since ms> <max_ttl ms> <cause>`. The node refuses
    /// fenced acquisitions before `until`, even of a client that has not read the marker.
    pub fn to_bytes(&self) -> Vec<u8> {
        let until = match &*self.cause {
            NEW | IDLE => Duration::ZERO,
            _ => self.since.saturating_add(quarantine(self.max_ttl)),
        };
        let [until, since, max_ttl] = [until, self.since, self.max_ttl].map(|it| it.as_millis());
        let (run_id, cause) = (&self.run_id, &self.cause);
        format!("{WIRE_FORMAT} {until} {run_id} {since} {max_ttl} {cause}").into_bytes()
    }

    /// Reads a marker's text. Returns `None` for any other text. Treat that like the marker of another process, because
    /// it says nothing about the node.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let words: Vec<&str> = std::str::from_utf8(bytes).ok()?.splitn(6, ' ').collect();
        let [format, _, run_id, since, max_ttl, cause] = words[..] else {
            return None;
        };
        let millis = |word: &str| word.parse().ok().map(Duration::from_millis);
        let marker = Self {
            run_id: run_id.to_owned(),
            since: millis(since)?,
            max_ttl: millis(max_ttl)?,
            cause: cause.to_owned().into(),
        };
        // Errors and logs show the cause.
        let is_text = (1..100).contains(&cause.len()) && !cause.contains(char::is_control);
        let is_ours = format == WIRE_FORMAT.to_string();
        (is_ours && is_text && !run_id.is_empty() && marker.max_ttl <= MAX_TTL).then_some(marker)
    }
}

/// Returns the length of a quarantine. It covers the longest ttl of any client, a fiftieth more for clocks of different
/// speed, and the largest unnoticed step of a clock. A fencing token may come from a hint at one end of its window, and
/// the next from a hint at the other end, at the lower end of its block. So a quarantine lasts at least twice the window
/// and the slack of blocks. After that time the node's clock has overtaken the first token.
pub(super) fn quarantine(longest_max_ttl: Duration) -> Duration {
    let longest = longest_max_ttl.max(HINT_WINDOW * 2 + BLOCK_SLACK);
    let margin = longest / 50 + CLOCK_WINDOW;
    longest.saturating_add(margin)
}

/// The content of the marker's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Nothing,
    /// The operator's word `idle`.
    Word,
    Garbage,
    /// A marker of the wire format with this number. Its clients follow other rules.
    Foreign(u32),
    Marker(Marker),
}

impl Found {
    pub(super) fn of(bytes: Option<&[u8]>) -> Self {
        match bytes {
            None => Self::Nothing,
            Some(word) if word == IDLE.as_bytes() => Self::Word,
            Some(bytes) => match (wire_format_of(bytes), Marker::parse(bytes)) {
                (Some(other), _) if other != WIRE_FORMAT => Self::Foreign(other),
                (_, marker) => marker.map_or(Self::Garbage, Self::Marker),
            },
        }
    }
}

/// Returns the wire format with which a marker begins, if it begins with a number.
fn wire_format_of(marker: &[u8]) -> Option<u32> {
    let (number, _) = std::str::from_utf8(marker).ok()?.split_once(' ')?;
    number.parse().ok()
}

/// Returns the key of the marker on every node, with the configured key prefix.
pub fn marker_key(prefix: &[u8]) -> Vec<u8> {
    [prefix, RESERVED_PREFIX, b"marker"].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        for (cause, until) in [
            (OPENING, 1_700_000_009_803_u64),
            (NEW, 0),
            (IDLE, 0),
            (RESTARTED, 1_700_000_009_803),
            ("of a later version", 1_700_000_009_803),
        ] {
            let marker = Marker {
                run_id: "abc".into(),
                since: Duration::from_millis(1_700_000_000_123),
                max_ttl: Duration::from_secs(9),
                cause: cause.into(),
            };
            let text = format!("1 {until} abc 1700000000123 9000 {cause}");
            assert_eq!(String::from_utf8(marker.to_bytes()).unwrap(), text);
            assert_eq!(Marker::parse(text.as_bytes()), Some(marker));
        }
    }

    #[test]
    fn anything_else_is_no_marker() {
        let long = format!("1 0 abc 3 9 {}", "x".repeat(100));
        for text in [
            "",
            "idle",
            "1 0 abc 5",
            "1 0  3 9 new",
            "1 0 abc 3 9 ",
            "1 0 abc 3 9 two\nlines",
            &long,
            "1 0 abc -3 9 new",
            "1 0 abc 3 31536000001 new",
            "1 0 abc 18446744073709551616 9 new",
            "01 0 abc 3 9 new",
            "4294967296 0 abc 3 9 new",
        ] {
            assert_eq!(Marker::parse(text.as_bytes()), None, "{text}");
            let is_garbage = matches!(
                Found::of(Some(text.as_bytes())),
                Found::Garbage | Found::Word
            );
            assert!(is_garbage, "{text}");
        }
        assert_eq!(Marker::parse(b"1 0 \xff 3 9 new"), None);
    }

    #[test]
    fn the_markers_key_is_below_the_prefix() {
        assert_eq!(marker_key(b""), b"redlock:marker");
        assert_eq!(marker_key(b"shop:"), b"shop:redlock:marker");
    }
}
