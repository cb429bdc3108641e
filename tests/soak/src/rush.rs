//! A rush: callers of all processes want one lock of each kind again and again, while nothing fails, and none of them
//! may starve.
//!
//! A wait is measured in leases of other processes that came later and went first, and not in time, because a busy
//! machine slows all callers alike. If the processes take turns, hardly any lease goes first. With six times as
//! much work as cores, fewer than three leases a caller overtook a caller for a permit. While permits had no order among
//! processes, about nineteen did. Plain locks leave the next process to chance in part.
//! A node names one waiting writer only, so chance decides among writers too, and all readers go in after each of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::check::Violation;
use crate::event::Held;
use crate::history::History;
use crate::holder::Holder;
use crate::journal::Journal;
use crate::plan::{Kind, Plan};
use crate::worker::{Orders, judge};

/// For how long callers come again.
const SPAN: Duration = Duration::from_secs(10);

/// The beginning of the names of the locks.
const NAME: &str = "rush:";

/// Returns how many leases of other processes, for each caller of a lock, may overtake a caller of this kind. If readers
/// kept writers out, it would be a hundred.
fn most_rounds(kind: Kind) -> usize {
    match kind {
        Kind::Writer => 40,
        Kind::Plain => 16,
        _ => 8,
    }
}

/// Returns the number of callers of one process that want a lock of this kind.
fn callers(kind: Kind) -> usize {
    if kind == Kind::Writer { 1 } else { 4 }
}

/// Runs the callers of one process until all of them have had enough.
pub(crate) async fn run(orders: &Orders, journal: &Arc<Journal>) {
    let store = Arc::new(orders.store.clone());
    let end = Instant::now() + SPAN;
    let mut rush = JoinSet::new();
    for (name, kind, is_fenced) in [
        ("plain", Kind::Plain, false),
        ("fenced", Kind::Plain, true),
        ("permits", Kind::Permit, false),
        ("shared", Kind::Reader, false),
        ("shared", Kind::Writer, false),
    ] {
        for _ in 0..callers(kind) {
            let (journal, store) = (Arc::clone(journal), Arc::clone(&store));
            rush.spawn(async move {
                while Instant::now() < end {
                    let plan = Plan::patient(format!("{NAME}{name}"), kind, is_fenced);
                    let holder = Holder::new(&journal, &store, plan);
                    judge(&journal, tokio::spawn(holder.perform()).await);
                }
            });
        }
    }
    rush.join_all().await;
}

/// Returns each lease whose caller starved, and writes the longest waits of each kind into the table.
pub(crate) fn starved(history: &mut History) -> BTreeSet<Violation> {
    let mut waits = Waits::default();
    let mut locks: BTreeMap<&str, Vec<&Held>> = BTreeMap::new();
    for held in history.leases.values() {
        let lock = held.names.iter().find(|name| name.starts_with(NAME));
        let place = lock.map_or("under faults", |_| "in a rush");
        let waited = held.entered.saturating_sub(held.came) / 1_000_000;
        waits.note(held, &format!("{place}, ms"), waited);
        if let Some(name) = lock {
            let lock = name.split('#').next().unwrap_or(name);
            locks.entry(lock).or_default().push(held);
        }
    }
    let mut found = BTreeSet::new();
    for leases in locks.into_values() {
        found.extend(starved_of(leases, &mut waits));
    }
    history.counts.extend(waits.0);
    found
}

/// Returns those of the `leases` of one lock whose callers starved.
fn starved_of(mut leases: Vec<&Held>, waits: &mut Waits) -> Vec<Violation> {
    leases.sort_unstable_by_key(|held| held.came);
    let groups: BTreeSet<_> = (leases.iter())
        .map(|held| (held.lease.0, held.kind))
        .collect();
    let callers: usize = groups.iter().map(|(_, kind)| callers(*kind)).sum();
    let mut found = Vec::new();
    for (place, held) in leases.iter().enumerate() {
        let later = leases[place..].iter();
        let later = later.take_while(|other| other.came < held.entered);
        let went_first = |other: &&&Held| {
            other.lease.0 != held.lease.0 && other.came > held.came && other.entered < held.entered
        };
        let overtaken = later.filter(went_first).count();
        waits.note(held, "in a rush, overtaken by", overtaken as u64);
        if overtaken > callers * most_rounds(held.kind) {
            found.push(Violation::Starved(held.lease, overtaken));
        }
    }
    found
}

/// The rows of the table for the longest waits.
#[derive(Default)]
struct Waits(BTreeMap<String, u64>);

impl Waits {
    fn note(&mut self, held: &Held, what: &str, wait: u64) {
        let row = format!("longest wait: {} {what}", held.sort());
        let longest = self.0.entry(row).or_default();
        *longest = wait.max(*longest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::{Event, LeaseId};

    /// The history of a caller that came first and of `others` leases that went ahead of it, of as many other processes
    /// as there are in `workers`.
    fn history(workers: u32, others: u32, went_ahead: bool) -> History {
        let mut history = History::default();
        let mut enter = |lease, came, entered| {
            history.add(Event::Enter(Held {
                lease,
                names: vec![format!("{NAME}permits#1")],
                kind: Kind::Permit,
                came,
                began: came,
                entered,
                until: entered,
                token: None,
            }));
        };
        let entered = if went_ahead { 10_000_000_000 } else { 20 };
        enter(LeaseId(0, 1), 10, entered);
        for number in 0..others {
            let at = u64::from(number) + 100;
            enter(LeaseId(number % workers + 1, number + 2), at, at + 50);
        }
        history
    }

    #[test]
    fn caller_overtaken_too_often_starves() {
        let most = 3 * u32::try_from(callers(Kind::Permit) * most_rounds(Kind::Permit)).unwrap();
        assert_eq!(starved(&mut history(2, most, true)), [].into());
        let too_many = most + 1;
        let violation = Violation::Starved(LeaseId(0, 1), too_many as usize);
        assert_eq!(starved(&mut history(2, too_many, true)), [violation].into());
        assert_eq!(starved(&mut history(2, too_many, false)), [].into());
    }

    #[test]
    fn longest_waits_are_rows_of_the_table() {
        let mut history = history(2, 7, true);
        starved(&mut history);
        let row = |what: &str| history.counts[&format!("longest wait: Permit in a rush{what}")];
        assert_eq!((row(", ms"), row(", overtaken by")), (9_999, 7));
    }
}
