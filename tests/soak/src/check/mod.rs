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
//! So where the intervals of two leases on one name meet, there was a moment at which both were
//! valid. That is an overlap if the later one does not [fit](Share::fits_beside) beside the others. That a
//! holder is stopped between any two of these steps makes an interval shorter or later written, never longer. The reverse does not hold: an overlap shorter than it takes to
//! write `entered`, or one whose holder was killed before it could write, is not found.
//!
//! **Tokens** of one resource are unique. They increase in the order of the intervals where these
//! are not empty: two such leases share a node that granted both, and there the later grant comes
//! behind the end of the earlier key, which outlives the earlier interval. Where they are empty, a
//! token is still higher than those of all acquisitions that had returned when its attempt began. A
//! reader's token may be that of other readers and that of the writer before it, but not that of the writer
//! behind it. Readers have no order among themselves.
//!
//! **Store.** It takes tokens in order, which is checked in its own log. A holder whose token is
//! refused and whose lease is still valid afterwards has found someone who was let in too early.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use crate::claimed::Share;
use crate::event::{Enter, LeaseId};
use crate::history::{Held, History};
use crate::store::{Highest, Write};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// Both leases were valid for this number of ns.
    Overlap(LeaseId, LeaseId, u64),
    SameToken(LeaseId, LeaseId),
    /// The first was there before the second, and has the higher token.
    TokenOrder(LeaseId, LeaseId),
    /// The store refused a lease that was valid, because of this token.
    Unfit(LeaseId, u64),
    /// The store took a write although it had taken one with a higher token.
    Store(Write),
    /// A key whose holder has ended, as the node describes it.
    Leak(String),
    /// Nobody got this resource again after the faults had ended.
    Stuck(String),
    Worker(String),
}

impl Violation {
    pub(crate) fn is_of_tokens(&self) -> bool {
        matches!(
            self,
            Self::SameToken(..) | Self::TokenOrder(..) | Self::Unfit(..) | Self::Store(_)
        )
    }

    /// Whose events tell more.
    pub(crate) fn leases(&self) -> Vec<LeaseId> {
        match self {
            Self::Overlap(one, other, _)
            | Self::SameToken(one, other)
            | Self::TokenOrder(one, other) => vec![*one, *other],
            Self::Unfit(lease, _) => vec![*lease],
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap(one, other, ns) => {
                let us = ns / 1000;
                write!(f, "overlap: {one} and {other} were both valid for {us} µs")
            }
            Self::SameToken(one, other) => write!(f, "one token for {one} and {other}"),
            Self::TokenOrder(one, other) => {
                write!(f, "{one} was there before {other} and has a higher token")
            }
            Self::Unfit(lease, highest) => {
                write!(
                    f,
                    "the store knew {highest} while {lease} was valid with a lower token"
                )
            }
            Self::Store(write) => {
                write!(
                    f,
                    "the store took {} for {} late",
                    write.token, write.resource
                )
            }
            Self::Leak(key) => write!(f, "leaked: {key}"),
            Self::Stuck(resource) => write!(f, "nobody got {resource} after the faults had ended"),
            Self::Worker(text) => write!(f, "worker: {text}"),
        }
    }
}

/// Everything that is wrong with a history that is complete.
pub(crate) fn violations(history: &History, writes: &[Write]) -> Vec<Violation> {
    let mut by_resource: HashMap<&str, Vec<&Held>> = HashMap::new();
    for held in history.leases.values() {
        for name in &held.enter.claimed.names {
            by_resource.entry(name).or_default().push(held);
        }
    }
    let mut found = Vec::new();
    for mut leases in by_resource.into_values() {
        leases.sort_unstable_by_key(|held| (held.enter.entered, held.enter.lease));
        find_overlaps(&leases, &mut found);
        find_same_tokens(&leases, &mut found);
        find_disorder(&leases, &mut found);
        find_disorder_of_attempts(&leases, &mut found);
    }
    // Two leases that have several names in common are found once for each.
    let mut known = HashSet::new();
    found.retain(|violation| known.insert(violation.to_string()));
    for (lease, highest) in &history.unfit {
        found.push(Violation::Unfit(*lease, *highest));
    }
    find_late_writes(writes, &mut found);
    for text in &history.broken {
        found.push(Violation::Worker(text.clone()));
    }
    found
}

fn is_empty(held: &Held) -> bool {
    held.until <= held.enter.entered
}

fn find_overlaps(leases: &[&Held], found: &mut Vec<Violation>) {
    let mut there: Vec<&Held> = Vec::new();
    for held in leases.iter().filter(|held| !is_empty(held)) {
        let Enter { lease, entered, .. } = held.enter;
        there.retain(|before| entered < before.until);
        let shares = there.iter().map(|before| before.enter.claimed.share);
        let fits = held.enter.claimed.share.fits_beside(shares);
        let longest = there.iter().max_by_key(|before| before.until);
        if let Some(before) = longest.filter(|_| !fits) {
            let both = before.until.min(held.until) - entered;
            found.push(Violation::Overlap(before.enter.lease, lease, both));
        }
        there.push(held);
    }
}

fn is_reader(held: &Held) -> bool {
    held.enter.claimed.share == Share::Reads
}

fn find_same_tokens(leases: &[&Held], found: &mut Vec<Violation>) {
    let mut owners = HashMap::new();
    for held in leases.iter().filter(|held| !is_reader(held)) {
        let Some(token) = held.enter.token else {
            continue;
        };
        if let Some(other) = owners.insert(token, held.enter.lease) {
            found.push(Violation::SameToken(other, held.enter.lease));
        }
    }
}

/// Checks the order of the tokens of leases that were certainly valid, in the order of `entered`.
fn find_disorder(leases: &[&Held], found: &mut Vec<Violation>) {
    let mut before = Before::default();
    for held in leases.iter().filter(|held| !is_empty(held)) {
        if let Some(other) = before.in_disorder_with(held) {
            found.push(Violation::TokenOrder(other.enter.lease, held.enter.lease));
        }
        before.add(held);
    }
}

/// The leases with the highest tokens among those that were there before.
#[derive(Default)]
struct Before<'a> {
    alone: Option<(u64, &'a Held)>,
    reader: Option<(u64, &'a Held)>,
}

impl<'a> Before<'a> {
    fn add(&mut self, held: &'a Held) {
        let Some(token) = held.enter.token else {
            return;
        };
        let highest = if is_reader(held) {
            &mut self.reader
        } else {
            &mut self.alone
        };
        if highest.is_none_or(|(high, _)| token > high) {
            *highest = Some((token, held));
        }
    }

    /// The lease that `held` comes behind and whose token is too high for that. If two holders that were
    /// alone have one token, that is another violation.
    fn in_disorder_with(&self, held: &Held) -> Option<&'a Held> {
        let token = held.enter.token?;
        let alone = self.alone.filter(|(high, _)| token < *high);
        let reader = self.reader.filter(|(high, _)| token <= *high);
        let found = alone.or(reader.filter(|_| !is_reader(held)));
        found.map(|(_, before)| before)
    }
}

/// Checks the order of the tokens of all `leases`, also those that were over at once: in the order of
/// `entered`, against the moments at which attempts began.
fn find_disorder_of_attempts(leases: &[&Held], found: &mut Vec<Violation>) {
    let mut attempts: Vec<&Held> = leases.to_vec();
    attempts.sort_unstable_by_key(|held| held.enter.began);
    let mut returned = leases.iter().peekable();
    let mut before = Before::default();
    for held in attempts {
        while let Some(other) = returned.next_if(|other| other.enter.entered < held.enter.began) {
            before.add(other);
        }
        // If both are certainly valid, it was found already.
        if let Some(other) = before.in_disorder_with(held)
            && (is_empty(other) || is_empty(held))
        {
            let (one, other) = (other.enter.lease, held.enter.lease);
            found.push(Violation::TokenOrder(one, other));
        }
    }
}

/// The store is no judge in its own case: what it took is looked at again.
fn find_late_writes(writes: &[Write], found: &mut Vec<Violation>) {
    let mut highest: BTreeMap<&str, Highest> = BTreeMap::new();
    for write in writes.iter().filter(|write| write.is_accepted) {
        let highest = highest.entry(&write.resource).or_default();
        if highest.accept(write.token, write.is_read).is_err() {
            found.push(Violation::Store(write.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
