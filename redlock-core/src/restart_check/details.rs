//! What the marker's second version says: why the first one is as it is, and since when.

use std::fmt;
use std::time::Duration;

use crate::model::brief::Brief;

use super::Marker;
use super::settings::StrictestSettings;

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
    /// The node came back with its data, which is trusted.
    Kept,
    /// The client that wrote it knows the first version only.
    Unknown,
    /// Another process than before, without a marker.
    RestartedEmpty,
    /// The server process is not the process that the marker names.
    Restarted,
    /// Another process, which was up already when the one before it was.
    Replaced,
    /// The same process as before, without a marker.
    Flushed,
    /// The marker is gone, and the process is not known.
    Lost,
    /// The marker is none.
    Garbled,
    /// No marker, beside nodes that have one.
    Late,
    /// No marker, under a strict restart check.
    Strict,
    /// The clock stepped; positive if forwards.
    Stepped { by_ms: i64 },
}

impl Cause {
    const WORDS: [(Self, &str); 13] = [
        (Self::Opening, "opening"),
        (Self::New, "new"),
        (Self::Idle, "idle"),
        (Self::Kept, "kept"),
        (Self::Unknown, "unknown"),
        (Self::RestartedEmpty, "restarted-empty"),
        (Self::Restarted, "restarted"),
        (Self::Replaced, "replaced"),
        (Self::Flushed, "flushed"),
        (Self::Lost, "lost"),
        (Self::Garbled, "garbled"),
        (Self::Late, "late"),
        (Self::Strict, "strict"),
    ];

    /// Whether a node that has the marker for it may have forgotten locks then.
    pub(super) const fn closes(self) -> bool {
        !matches!(
            self,
            Self::Opening | Self::New | Self::Idle | Self::Kept | Self::Unknown
        )
    }

    /// Whether it says how a node that had a marker came to have none.
    pub(super) const fn is_loss(self) -> bool {
        matches!(
            self,
            Self::RestartedEmpty | Self::Replaced | Self::Flushed | Self::Lost
        )
    }

    fn word(self) -> String {
        let word = Self::WORDS.iter().find(|(cause, _)| *cause == self);
        match (self, word) {
            (Self::Stepped { by_ms }, _) => format!("stepped:{by_ms}"),
            (_, Some((_, word))) => (*word).to_owned(),
            (_, None) => String::new(),
        }
    }

    fn parse(word: &str) -> Option<Self> {
        if let Some(by_ms) = word.strip_prefix("stepped:") {
            let by_ms = by_ms.parse().ok()?;
            return Some(Self::Stepped { by_ms });
        }
        let found = Self::WORDS.iter().find(|(_, known)| *known == word);
        found.map(|(cause, _)| *cause)
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Opening | Self::New => "its set is new, and is being opened",
            Self::Idle => "its operator says that no lock is held",
            Self::Kept => "it restarted with its marker, which is trusted",
            Self::Unknown => "an earlier version of this library closed it",
            Self::RestartedEmpty => "it restarted empty",
            Self::Restarted => "it restarted, or a new server has a copy of its data",
            Self::Replaced => "another server has taken its place",
            Self::Flushed => "it was flushed",
            Self::Lost => "it lost its keys",
            Self::Garbled => "its marker is not valid",
            Self::Late => "it is blank, and others of its set are not",
            Self::Strict => "it has no marker, and the restart check is strict",
            Self::Stepped { by_ms } => {
                let direction = if *by_ms > 0 { "ahead" } else { "back" };
                return write!(f, "its clock stepped {} ms {direction}", by_ms.abs());
            }
        })
    }
}

/// The reason why a node does not vote, and the time that is left. The text before the `;` does not change
/// with time, and the whole text is true for as long as it is shown, which is until the next check.
pub(super) fn held(cause: Option<Cause>, left: Duration) -> String {
    let left = Brief(left);
    match cause {
        Some(cause) => {
            format!("{cause}, so it may have forgotten locks; it votes again within {left}")
        }
        None => format!(
            "it may have forgotten locks, or dropped them early; it votes again within {left}"
        ),
    }
}

/// The part of a marker's second version that the first version lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MarkerDetails {
    pub(super) cause: Cause,
    /// When it was written, in ms since the Unix epoch on the node's own clock.
    pub(super) since_ms: u64,
    /// What processes say of themselves.
    pub(super) settings: StrictestSettings,
}

impl MarkerDetails {
    pub(super) const fn since(&self) -> Duration {
        Duration::from_millis(self.since_ms)
    }
}

/// What is in the marker's place on a node, in both versions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundMarker {
    pub(super) marker: Marker,
    /// `None` if a client that knows only the first version wrote the marker last.
    pub(super) details: Option<MarkerDetails>,
}

impl FoundMarker {
    /// Reads `1 <run_id> <until ms>` and, on a line of its own,
    /// `2 <run_id> <since ms> <cause> <settings…> <until ms>`, which counts only for the same marker.
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let mut lines = bytes.splitn(2, |byte| *byte == b'\n');
        let marker = Marker::parse(lines.next()?)?;
        let details = lines.next().and_then(|line| details_of(&marker, line));
        Some(Self { marker, details })
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = self.marker.to_bytes();
        if let Some(details) = &self.details {
            let Marker { run_id, until_ms } = &self.marker;
            let (since, cause, settings) = (
                details.since_ms,
                details.cause.word(),
                details.settings.words(),
            );
            let line = format!("\n2 {run_id} {since} {cause}{settings} {until_ms}");
            bytes.extend_from_slice(line.as_bytes());
        }
        bytes
    }

    pub(super) fn cause(&self) -> Option<Cause> {
        self.details.as_ref().map(|details| details.cause)
    }
}

/// True if an operator says that no lock is held. The second version of an earlier marker may still
/// exist.
pub(super) fn is_idle(bytes: &[u8]) -> bool {
    bytes.split(|byte| *byte == b'\n').next() == Some(IDLE)
}

fn details_of(marker: &Marker, line: &[u8]) -> Option<MarkerDetails> {
    let mut words = std::str::from_utf8(line).ok()?.split(' ');
    let (version, run_id) = (words.next()?, words.next()?);
    let (since, cause, until) = (words.next()?, words.next()?, words.next_back()?);
    let is_of_it = run_id == marker.run_id && until.parse() == Ok(marker.until_ms);
    if version != "2" || !is_of_it {
        return None;
    }
    let mut settings = StrictestSettings::default();
    words.for_each(|word| settings.read(word));
    Some(MarkerDetails {
        settings,
        cause: Cause::parse(cause)?,
        since_ms: since.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(cause: Cause) -> FoundMarker {
        let marker = Marker {
            run_id: "abc".into(),
            until_ms: 1_700_000_000_500,
        };
        let details = Some(MarkerDetails {
            cause,
            since_ms: 1_700_000_000_123,
            settings: StrictestSettings::of(
                Duration::from_secs(9),
                true,
                true,
                Duration::from_secs(3),
            ),
        });
        FoundMarker { marker, details }
    }

    #[test]
    fn both_versions_are_read_as_they_were_written() {
        let stepped = Cause::Stepped { by_ms: -700 };
        let causes = Cause::WORDS.iter().map(|(cause, _)| *cause);
        for cause in causes.chain([stepped]) {
            let found = found(cause);
            assert_eq!(FoundMarker::parse(&found.to_bytes()), Some(found));
        }
        let text = found(stepped).to_bytes();
        let text = text.escape_ascii().to_string();
        assert_eq!(
            text,
            "1 abc 1700000000500\\n2 abc 1700000000123 stepped:-700 ttl:9000:3000 strict:3000 \
             careful:3000 1700000000500"
        );
    }

    #[test]
    fn a_second_version_of_another_marker_or_of_a_later_library_is_none() {
        let first = "1 abc 5";
        for second in [
            "",
            "2 abd 3 new 5",
            "2 abc 3 new 4",
            "3 abc 3 new 5",
            "2 abc 3 unheard-of 5",
            "2 abc 3 new",
            "2 abc 3 new 5 6",
            "2 abc 5 5",
        ] {
            let found = FoundMarker::parse(format!("{first}\n{second}").as_bytes()).unwrap();
            assert_eq!(found.details, None, "{second}");
        }
        assert!(FoundMarker::parse(first.as_bytes()).is_some());
        assert!(FoundMarker::parse(b"abc\n2 abc 3 new 5").is_none());
    }

    #[test]
    fn an_operators_word_stands_where_the_marker_does() {
        assert!(is_idle(b"idle") && is_idle(b"idle\n2 abc 3 new 5"));
        assert!(!is_idle(b"idle ") && !is_idle(b"1 idle 5") && !is_idle(b""));
    }
}
