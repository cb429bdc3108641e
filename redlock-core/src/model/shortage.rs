//! The error part for permits: why none of them was acquired.

use std::fmt;

/// The reason why no permit was acquired, in addition to a permit's holder.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shortage {
    /// The number of permits of the resource.
    pub count: u16,
    /// True if permits were free, and callers that came at the same moment split the nodes' votes.
    pub is_split: bool,
}

/// Writes the beginning of the refusal.
impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count;
        if self.is_split {
            write!(
                f,
                "contested: no majority granted any of {count} permits, because other callers came at the same moment"
            )
        } else {
            write!(f, "full: all {count} permits are held")
        }
    }
}
