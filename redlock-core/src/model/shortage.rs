//! The part of a refusal that is about permits.

use std::fmt;

/// The reason why a permit was refused, in addition to the holder of a permit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shortage {
    /// The number of permits of the resource.
    pub count: u16,
    /// True if permits were free, but simultaneous callers split the nodes' votes.
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
