//! Permits, as a node sees them.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The key of one permit.
#[derive(Clone, Debug)]
pub struct PermitKey {
    /// The number of the permit.
    pub permit: u16,
    /// The key that the permit's holder has.
    pub key: Arc<[u8]>,
}

/// What a node says of the permits of a resource beside its vote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PermitReport {
    /// The permit that the node gave to the acquisition.
    pub taken: Option<u16>,
    /// The permits that were free before.
    pub free: BTreeSet<u16>,
}

/// Why no permit was acquired, beside who holds one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PermitsHeld {
    /// The number of permits of the resource.
    pub count: u16,
    /// True if there were free permits, and callers that came at one moment split the nodes' votes.
    pub is_split: bool,
}

impl PermitsHeld {
    pub(crate) fn new(count: u16, is_split: bool) -> Self {
        Self { count, is_split }
    }
}

/// The beginning of the refusal.
impl fmt::Display for PermitsHeld {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count;
        if self.is_split {
            write!(
                f,
                "contested: no one of {count} permits was granted by a majority: other callers \
                 came at the same moment"
            )
        } else {
            write!(f, "full: all {count} permits are held")
        }
    }
}
