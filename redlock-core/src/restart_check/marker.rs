//! What a node's marker says, and how.

use std::time::Duration;

use crate::model::limits::MAX_TTL;
use crate::model::resource::RESERVED_PREFIX;

use super::cause::Cause;

/// The word to which an operator sets a node's marker if no lock is held.
pub(super) const IDLE: &[u8] = b"idle";

/// The marker on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The node's process when the marker was written; [`Marker::UNKNOWN`] if the client did not know
    /// it.
    pub run_id: String,
    /// When it was written, in ms since the Unix epoch on the node's own clock.
    pub(super) since_ms: u64,
    /// Why it was written.
    pub(super) cause: Cause,
    /// The longest `max_ttl` of the processes that use the node, in ms.
    pub(super) max_ttl_ms: u64,
    /// The end of the node's quarantine, in ms since the Unix epoch on the node's own clock.
    pub until_ms: u64,
}

/// The first word of a marker's text.
const VERSION: &str = "1";

impl Marker {
    /// Stands for the `run_id` if the server's ACL hides it.
    pub const UNKNOWN: &str = "?";

    pub(super) const fn since(&self) -> Duration {
        Duration::from_millis(self.since_ms)
    }

    pub(super) const fn max_ttl(&self) -> Duration {
        Duration::from_millis(self.max_ttl_ms)
    }

    /// The end of the quarantine, since the Unix epoch.
    pub const fn until(&self) -> Duration {
        Duration::from_millis(self.until_ms)
    }

    /// True if `other` is of the same process and quarantine. A `max_ttl` that was raised makes no other
    /// quarantine.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        self.run_id == other.run_id && self.until_ms == other.until_ms
    }

    /// The marker's text: `1 <run_id> <since ms> <cause> <max_ttl ms> <until ms>`. Scripts read the last
    /// number.
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self {
            run_id,
            since_ms,
            max_ttl_ms,
            until_ms,
            ..
        } = self;
        let cause = self.cause.word();
        format!("{VERSION} {run_id} {since_ms} {cause} {max_ttl_ms} {until_ms}").into_bytes()
    }

    /// Reads a marker's text. `None` for anything else, which tells nothing of the node, and is to
    /// be taken like the marker of another process.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let words: Vec<&str> = std::str::from_utf8(bytes).ok()?.split(' ').collect();
        let [VERSION, run_id, since, cause, max_ttl, until] = words[..] else {
            return None;
        };
        let marker = Self {
            run_id: run_id.to_owned(),
            since_ms: since.parse().ok()?,
            cause: Cause::parse(cause)?,
            max_ttl_ms: max_ttl.parse().ok()?,
            until_ms: until.parse().ok()?,
        };
        (!run_id.is_empty() && marker.max_ttl() <= MAX_TTL).then_some(marker)
    }
}

/// The key of the marker on every node, given the configured key prefix.
pub fn marker_key(prefix: &[u8]) -> Vec<u8> {
    [prefix, RESERVED_PREFIX, b"marker"].concat()
}

/// A time since the Unix epoch, or a duration, in ms.
pub(super) fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_is_read_as_it_was_written() {
        let marker = Marker {
            run_id: "abc".into(),
            since_ms: 1_700_000_000_123,
            cause: Cause::Stepped { by_ms: -700 },
            max_ttl_ms: 9_000,
            until_ms: 1_700_000_000_500,
        };
        let text = "1 abc 1700000000123 stepped:-700 9000 1700000000500";
        assert_eq!(marker.to_bytes(), text.as_bytes());
        assert_eq!(Marker::parse(text.as_bytes()), Some(marker));
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
