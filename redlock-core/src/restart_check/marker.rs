//! What a node's marker says, and how.

use std::time::Duration;

use crate::model::resource::RESERVED_PREFIX;

/// The marker on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// The node's process when the marker was written; [`Marker::UNKNOWN`] if the client did not know
    /// it.
    pub run_id: String,
    /// The end of the node's quarantine, in ms since the Unix epoch on the node's own clock.
    pub until_ms: u64,
}

/// The first word of a marker's text.
const VERSION: &str = "1";

impl Marker {
    /// Stands for the `run_id` if the server's ACL hides it.
    pub const UNKNOWN: &str = "?";

    pub(super) fn new(run_id: Option<&str>, until: Duration) -> Self {
        Self {
            run_id: run_id.unwrap_or(Self::UNKNOWN).to_owned(),
            until_ms: u64::try_from(until.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// The end of the quarantine, since the Unix epoch.
    pub const fn until(&self) -> Duration {
        Duration::from_millis(self.until_ms)
    }

    /// The marker's text: `1 <run_id> <until ms>`.
    pub fn to_bytes(&self) -> Vec<u8> {
        format!("{VERSION} {} {}", self.run_id, self.until_ms).into_bytes()
    }

    /// Reads a marker's text. `None` for anything else, which tells nothing of the node, and is to
    /// be taken like the marker of another process.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let mut words = std::str::from_utf8(bytes).ok()?.split(' ');
        let (version, run_id, until) = (words.next()?, words.next()?, words.next()?);
        if version != VERSION || run_id.is_empty() || words.next().is_some() {
            return None;
        }
        Some(Self {
            run_id: run_id.to_owned(),
            until_ms: until.parse().ok()?,
        })
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
        let marker = Marker::new(Some("abc123"), Duration::from_micros(1_700_000_000_123_456));
        assert_eq!(marker.to_bytes(), b"1 abc123 1700000000123");
        assert_eq!(Marker::parse(&marker.to_bytes()), Some(marker));
        assert_eq!(Marker::new(None, Duration::ZERO).to_bytes(), b"1 ? 0");
        assert_eq!(marker_key(b"shop:"), b"shop:redlock:marker");
    }

    #[test]
    fn what_is_no_marker_is_none() {
        for text in [
            &b""[..],
            b"1",
            b"1 abc",
            b"1 abc ",
            b"1 abc -4",
            b"1 abc 99999999999999999999",
            b"1 abc 4 more",
            b"1  4",
            b"2 abc 4",
            b"1 abc 4\n",
            b"\xff\xfe",
        ] {
            assert_eq!(Marker::parse(text), None, "{}", text.escape_ascii());
        }
    }
}
