//! Why none of several locks that are alike was acquired.

use std::fmt;

/// Why no permit was acquired, beside who holds one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Shortage {
    /// The number of permits of the resource.
    pub count: u16,
    /// True if there were free permits, and callers that came at one moment split the nodes' votes.
    pub is_split: bool,
}

/// The beginning of the refusal.
impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count;
        if self.is_split {
            write!(
                f,
                "contested: no one of {count} permits was granted by a majority: other callers came at the same moment"
            )
        } else {
            write!(f, "full: all {count} permits are held")
        }
    }
}
