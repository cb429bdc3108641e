//! The refusal of a resource whose permits are held.

use std::fmt;

use super::permits::CountRecord;

/// Why no permit was acquired, beside who holds one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PermitsHeld {
    /// The number of permits of the resource.
    pub count: u16,
    /// The number of permits that the caller asked for.
    pub take: u16,
    /// True if there were free permits, and callers that came at one moment split the nodes' votes.
    pub is_split: bool,
    /// Another number of permits, with which another process uses the resource.
    pub other_count: Option<CountRecord>,
}

impl PermitsHeld {
    /// Adds, at the end of the refusal, that processes disagree about the number.
    pub(crate) fn disagreement(&self) -> impl fmt::Display + '_ {
        Disagreement(self)
    }
}

/// The beginning of the refusal.
impl fmt::Display for PermitsHeld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { count, take, .. } = self;
        match (self.is_split, take) {
            (true, 1) => write!(
                f,
                "contested: no one of {count} permits was granted by a majority: other callers \
                                    came at the same moment"
            ),
            (true, _) => write!(
                f,
                "contested: no {take} of {count} permits were granted by a majority: other callers \
                                    came at the same moment"
            ),
            (false, 1) => write!(f, "full: all {count} permits are held"),
            (false, _) => write!(f, "full: fewer than {take} of {count} permits are free"),
        }
    }
}

struct Disagreement<'a>(&'a PermitsHeld);

impl fmt::Display for Disagreement<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(other) = &self.0.other_count else {
            return Ok(());
        };
        write!(
            f,
            "; {} uses it with `permits` of {}, and this process with {}: give all the same number",
            other.owner(),
            other.count(),
            self.0.count,
        )
    }
}
