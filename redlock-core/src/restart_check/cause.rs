//! Why a marker was written.

use std::fmt;

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
    const WORDS: [(Self, &str); 12] = [
        (Self::Opening, "opening"),
        (Self::New, "new"),
        (Self::Idle, "idle"),
        (Self::Kept, "kept"),
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
        !matches!(self, Self::Opening | Self::New | Self::Idle | Self::Kept)
    }

    /// Whether it says how a node that had a marker came to have none.
    pub(super) const fn is_loss(self) -> bool {
        matches!(
            self,
            Self::RestartedEmpty | Self::Replaced | Self::Flushed | Self::Lost
        )
    }

    /// The word for it in a marker.
    pub(super) fn word(self) -> String {
        let word = Self::WORDS.iter().find(|(cause, _)| *cause == self);
        match (self, word) {
            (Self::Stepped { by_ms }, _) => format!("stepped:{by_ms}"),
            (_, Some((_, word))) => (*word).to_owned(),
            (_, None) => String::new(),
        }
    }

    pub(super) fn parse(word: &str) -> Option<Self> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_is_read_as_it_was_written() {
        let stepped = Cause::Stepped { by_ms: -700 };
        let causes = Cause::WORDS.iter().map(|(cause, _)| *cause);
        for cause in causes.chain([stepped]) {
            assert_eq!(Cause::parse(&cause.word()), Some(cause));
        }
        assert_eq!(stepped.word(), "stepped:-700");
        assert_eq!(Cause::parse("unheard-of"), None);
    }
}
