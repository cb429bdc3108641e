//! What must never be found in a history, and why a finding is a real one.
//!
//! **Overlap.** Of each lease the history has an interval `entered..until` in which it was certainly
//! valid, in the holder's own view, on the clock that all processes share:
//! * `entered` is read after the acquisition has returned, so the lease was established by then.
//! * `until` is made from `now` and `validity`, read in this order: what `validity` counts from is
//!   `now` or later, so the lease's true deadline is `now + validity` or later. Deadlines only move
//!   on, and only while the lease is valid. So a lease with validity left when its holder leaves was
//!   valid all the time since `entered`. An expired lease was valid up to the last deadline that its
//!   holder saw. A lease that ended otherwise counts up to the last moment at which it was seen to be
//!   valid.
//! * A holder writes that it leaves, with `until` no later than then, before it does anything that
//!   sends a release. So if a holder was killed or is stopped, each release that it sent is in its
//!   journal. Without one, the last deadline in the journal counts: until then no other holder may
//!   get the lock.
//!
//! A lease on several names counts as one on each of them, and a permit as a name of its own.
//!
//! So where the intervals of two leases on one name meet, there was a moment at which both were valid. That
//! is an overlap unless both are readers. A holder that is stopped between two of these steps makes an
//! interval shorter or writes it later, so no overlap is made up. The reverse does not hold: an overlap
//! shorter than it takes to write `entered`, or one whose holder was killed before it could write, is not
//! found.
//!
//! **Tokens** of one resource are unique. They increase in the order of the intervals where these
//! are not empty: two such leases share a node that granted both, and there the later grant comes
//! behind the end of the earlier key, which outlives the earlier interval. Where they are empty, a
//! token is still higher than those of all acquisitions that had returned when its attempt began.
//! Readers have no order among themselves, and may share a token.
//!
//! **Store.** It takes tokens in order. A holder whose token is refused and whose lease is still valid
//! afterwards has found someone who was let in too early.
//!
//! **Starvation** is looked for in a [rush](crate::rush), while nothing fails.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Held, LeaseId};
use crate::history::History;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Violation {
    /// Both leases were valid at once.
    Overlap(LeaseId, LeaseId),
    SameToken(LeaseId, LeaseId),
    /// The first was there before the second, and has the higher token.
    TokenOrder(LeaseId, LeaseId),
    /// The store refused a lease that was valid, because of this token.
    Unfit(LeaseId, u64),
    /// This caller was overtaken by so many leases of other processes in a rush.
    Starved(LeaseId, usize),
    /// A key whose holder has ended, as the node describes it.
    Leak(String),
    /// Nobody got this resource again after the faults had ended.
    Stuck(String),
    /// This row of the table stayed below its least value.
    Missing(String),
    /// A worker failed.
    Worker(String),
}

impl Violation {
    /// The rule that was broken, as a row of the table.
    pub(crate) fn name(&self) -> String {
        let text = format!("{self:?}");
        let end = text.find('(').unwrap_or(text.len());
        format!("violated: {}", &text[..end])
    }

    /// The leases whose events tell more.
    pub(crate) fn leases(&self) -> Vec<LeaseId> {
        match self {
            Self::Overlap(one, other)
            | Self::SameToken(one, other)
            | Self::TokenOrder(one, other) => vec![*one, *other],
            Self::Unfit(lease, _) | Self::Starved(lease, _) => vec![*lease],
            _ => Vec::new(),
        }
    }
}

/// Returns each violation of a complete history once.
pub(crate) fn violations(history: &History) -> BTreeSet<Violation> {
    let mut by_name: BTreeMap<&str, Vec<&Held>> = BTreeMap::new();
    for held in history.leases.values() {
        for name in &held.names {
            by_name.entry(name).or_default().push(held);
        }
    }
    let mut found: BTreeSet<_> = history.found.iter().cloned().collect();
    for mut leases in by_name.into_values() {
        leases.sort_unstable_by_key(|held| (held.entered, held.lease));
        for (place, later) in leases.iter().enumerate() {
            for before in &leases[..place] {
                found.extend(violated_by(before, later).into_iter().flatten());
            }
        }
    }
    found
}

/// Compares two leases on one name, of which `before` entered first.
fn violated_by(before: &Held, later: &Held) -> [Option<Violation>; 3] {
    if before.is_reader() && later.is_reader() {
        return [None, None, None];
    }
    let are_valid = [before, later].iter().all(|held| held.entered < held.until);
    let overlap = are_valid && later.entered < before.until;
    let are_fenced = before.token.is_some() && later.token.is_some();
    let same = are_fenced && before.token == later.token;
    let is_behind = are_valid || before.entered < later.began;
    let disorder = are_fenced && is_behind && before.token > later.token;
    let (before, later) = (before.lease, later.lease);
    [
        overlap.then_some(Violation::Overlap(before, later)),
        same.then_some(Violation::SameToken(before, later)),
        disorder.then_some(Violation::TokenOrder(before, later)),
    ]
}

#[cfg(test)]
mod tests;
