//! What a soak found, as a table.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::check::Violation;
use crate::claimed::Share;
use crate::event::{How, Kind, Longer};
use crate::history::{History, Journals};
use crate::options::Options;
use crate::store::Write;

/// How many violations are told with all their events.
const TOLD: usize = 10;

pub(crate) struct Report {
    pub(crate) options: Options,
    /// How long faults were injected.
    pub(crate) faulty: Duration,
    /// From the end of the faults until every resource was acquired again.
    pub(crate) recovery: Duration,
    pub(crate) toll: BTreeMap<&'static str, u64>,
    pub(crate) history: History,
    pub(crate) writes: Vec<Write>,
    pub(crate) found: Vec<Violation>,
    pub(crate) details: Vec<String>,
    /// Where the journals are, if they were kept.
    pub(crate) kept: Option<PathBuf>,
}

impl Report {
    /// The first violations with all that their holders wrote.
    pub(crate) fn details(found: &[Violation], journals: &Journals) -> Vec<String> {
        let mut details = Vec::new();
        for violation in found.iter().take(TOLD) {
            details.push(violation.to_string());
            for lease in violation.leases() {
                let lines = journals.lines_of(lease);
                details.extend(lines.into_iter().map(|line| format!("    {line}")));
            }
        }
        if found.len() > TOLD {
            details.push(format!("and {} more", found.len() - TOLD));
        }
        details
    }
}

/// The name of a row of the table, and its value.
pub(crate) type Row = (String, u64);

/// What was done, and what came of it.
pub(crate) fn counts(
    history: &History,
    toll: &BTreeMap<&'static str, u64>,
    writes: &[Write],
) -> Vec<Row> {
    let longer = |why| history.longer.get(&why).copied().unwrap_or(0);
    let ended = |how| history.ended(how) as u64;
    let accepted = writes.iter().filter(|write| write.is_accepted);
    let accepted = accepted.count() as u64;
    let fenced = history.leases.values();
    let fenced = fenced.filter(|held| held.enter.token.is_some());
    let several = history.leases.values();
    let several = several.filter(|held| held.enter.claimed.names.len() > 1);
    let reads = history.leases.values();
    let reads = reads.filter(|held| held.enter.claimed.share == Share::Reads);
    let permits = history
        .leases
        .values()
        .map(|held| &held.enter.claimed.names);
    let permits = permits.filter(|names| names.iter().any(|name| name.contains('#')));
    let mut rows = Vec::new();
    let mut row = |name: &str, value: u64| rows.push((name.to_owned(), value));

    row("acquisitions", history.leases.len() as u64);
    row("  with a fencing token", fenced.count() as u64);
    row("  of several names", several.count() as u64);
    row("  of readers", reads.count() as u64);
    row("  of writers", history.count(Kind::Wrote));
    row("  of permits behind the first", permits.count() as u64);
    row("  of offices", history.count(Kind::Elected));
    row("candidates that left", history.count(Kind::NotElected));
    row("refused: contended", history.count(Kind::Contended));
    row("refused: unavailable", history.count(Kind::Unavailable));
    row("extensions", longer(Longer::Extended));
    row("extensions that failed", history.count(Kind::NotExtended));
    row("renewals seen", longer(Longer::Renewed));
    row("lost: expired under the holder", ended(How::Expired));
    row("lost: taken", ended(How::Taken));
    row("lost: forgotten", ended(How::Forgotten));
    row("lost: holder killed", history.never_left() as u64);
    row("acquisitions cut off", history.count(Kind::CutWaiting));
    row("bodies cut off", history.count(Kind::CutHolding));
    row("bodies that panicked", history.count(Kind::Panicked));
    for (fault, count) in toll {
        row(&format!("fault: {fault}"), *count);
    }
    row("faults injected", toll.values().sum());
    row("writes accepted by the store", accepted);
    let refused = writes.len() as u64 - accepted;
    row("late writes refused by the store", refused);
    rows
}

/// What was found, by its kind.
pub(crate) fn findings(found: &[Violation]) -> Vec<Row> {
    let count = |wanted: fn(&Violation) -> bool| {
        let of_it = found.iter().filter(|found| wanted(found));
        of_it.count() as u64
    };
    let leaked = count(|found| matches!(found, Violation::Leak(_)));
    let overlaps = count(|found| matches!(found, Violation::Overlap(..)));
    let tokens = count(Violation::is_of_tokens);
    let others = found.len() as u64 - leaked - tokens - overlaps;
    let rows = [
        ("keys leaked", leaked),
        ("fencing violations", tokens),
        ("overlaps", overlaps),
        ("other violations", others),
    ];
    rows.map(|(name, value)| (name.to_owned(), value)).into()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = &self.options;
        let mut row = |name: &str, value: u64| writeln!(f, "{name:<40} {value:>9}");

        row("seconds of faults", self.faulty.as_secs())?;
        row("nodes", options.nodes.into())?;
        row("processes", options.processes.into())?;
        row("tasks", (options.processes * options.tasks).into())?;
        row("resources", options.resources.into())?;
        row("seed", options.seed)?;

        for (name, value) in counts(&self.history, &self.toll, &self.writes) {
            row(&name, value)?;
        }
        let recovery = u64::try_from(self.recovery.as_millis()).unwrap_or(u64::MAX);
        row("ms until all were acquired again", recovery)?;

        for (name, value) in findings(&self.found) {
            row(&name, value)?;
        }
        for line in &self.details {
            writeln!(f, "{line}")?;
        }
        if let Some(kept) = &self.kept {
            writeln!(f, "the journals are in {}", kept.display())?;
        }
        f.write_str(if self.found.is_empty() {
            "nothing was violated"
        } else {
            "VIOLATED"
        })
    }
}
