//! The holds of the key: by which caller, from when until when.

use serde::{Deserialize, Serialize};

use crate::clock::Moment;

/// One holder's time: from when its acquisition had returned until its release was called. So two
/// that overlap here did overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The number of its task in the process.
    pub task: usize,
    /// The permit that it had, zero without permits.
    pub permit: u16,
    /// When it asked for the key.
    pub asked: Moment,
    /// When its acquisition had returned.
    pub acquired: Moment,
    /// When it called the release.
    pub releasing: Moment,
    /// When the release had returned.
    pub released: Moment,
}

/// Everything that the tasks of one process did in a turn.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Log {
    /// The holds, task by task.
    pub holds: Vec<Hold>,
    /// Releases that were not confirmed in time.
    pub unconfirmed: usize,
    /// Acquisitions that were given up.
    pub refused: usize,
    /// Releases that went wrong.
    pub failures: usize,
    /// The text of the first refusal or failure.
    pub first_error: Option<String>,
}

impl Log {
    pub(crate) fn add(&mut self, other: Self) {
        self.holds.extend(other.holds);
        self.unconfirmed += other.unconfirmed;
        self.refused += other.refused;
        self.failures += other.failures;
        self.first_error = self.first_error.take().or(other.first_error);
    }
}

/// Returns the first two holders that were inside at once, if any were. `holds` is sorted by the
/// acquisition.
pub(crate) fn overlap<H: AsRef<Hold> + Copy>(holds: &[H]) -> Option<(H, H)> {
    let (first, rest) = holds.split_first()?;
    // The hold that ends last of those that began before.
    let mut longest = *first;
    for &next in rest {
        if next.as_ref().acquired < longest.as_ref().releasing {
            return Some((longest, next));
        }
        if next.as_ref().releasing > longest.as_ref().releasing {
            longest = next;
        }
    }
    None
}

impl AsRef<Self> for Hold {
    fn as_ref(&self) -> &Self {
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hold(task: usize, acquired: Moment, releasing: Moment) -> Hold {
        Hold {
            task,
            permit: 0,
            asked: 0,
            acquired,
            releasing,
            released: releasing,
        }
    }

    #[test]
    fn one_behind_the_other_is_no_overlap() {
        assert_eq!(
            overlap(&[hold(1, 10, 20), hold(2, 20, 20), hold(1, 21, 30)]),
            None
        );
        assert_eq!(overlap::<Hold>(&[]), None);
    }

    #[test]
    fn overlaps_are_found_across_holders_in_between() {
        let long = hold(1, 10, 50);
        let inside = hold(2, 30, 40);
        assert_eq!(overlap(&[long, inside]), Some((long, inside)));
        let holds = [hold(3, 1, 9), long, hold(2, 50, 51), hold(3, 50, 60)];
        assert_eq!(overlap(&holds), Some((holds[2], holds[3])));
    }
}
