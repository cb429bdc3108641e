//! What a soak found, as a table.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::check::Violation;
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

    fn found(&self, wanted: impl Fn(&Violation) -> bool) -> u64 {
        self.found.iter().filter(|found| wanted(found)).count() as u64
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (options, history) = (&self.options, &self.history);
        let longer = |why| history.longer.get(&why).copied().unwrap_or(0);
        let ended = |how| history.ended(how) as u64;
        let refused = self
            .writes
            .iter()
            .filter(|write| !write.is_accepted)
            .count() as u64;
        let fenced = history
            .leases
            .values()
            .filter(|held| held.enter.token.is_some());
        let mut row = |name: &str, value: u64| writeln!(f, "{name:<40} {value:>9}");

        row("seconds of faults", self.faulty.as_secs())?;
        row("nodes", options.nodes.into())?;
        row("processes", options.processes.into())?;
        row("tasks", (options.processes * options.tasks).into())?;
        row("resources", options.resources.into())?;
        row("seed", options.seed)?;

        row("acquisitions", history.leases.len() as u64)?;
        row("  with a fencing token", fenced.count() as u64)?;
        row("refused: contended", history.count(Kind::Contended))?;
        row("refused: unavailable", history.count(Kind::Unavailable))?;
        row("extensions", longer(Longer::Extended))?;
        row("extensions that failed", history.count(Kind::NotExtended))?;
        row("renewals seen", longer(Longer::Renewed))?;
        row("lost: expired under the holder", ended(How::Expired))?;
        row("lost: taken", ended(How::Taken))?;
        row("lost: forgotten", ended(How::Forgotten))?;
        row("lost: holder killed", history.never_left() as u64)?;
        row("acquisitions cut off", history.count(Kind::CutWaiting))?;
        row("bodies cut off", history.count(Kind::CutHolding))?;
        row("bodies that panicked", history.count(Kind::Panicked))?;
        for (fault, count) in &self.toll {
            row(&format!("fault: {fault}"), *count)?;
        }
        row("faults injected", self.toll.values().sum())?;
        row(
            "writes accepted by the store",
            self.writes.len() as u64 - refused,
        )?;
        row("late writes refused by the store", refused)?;
        let recovery = u64::try_from(self.recovery.as_millis()).unwrap_or(u64::MAX);
        row("ms until all were acquired again", recovery)?;

        let leaked = self.found(|found| matches!(found, Violation::Leak(_)));
        let overlaps = self.found(|found| matches!(found, Violation::Overlap(..)));
        let tokens = self.found(Violation::is_of_tokens);
        row("keys leaked", leaked)?;
        row("fencing violations", tokens)?;
        row("overlaps", overlaps)?;
        row(
            "other violations",
            self.found.len() as u64 - leaked - tokens - overlaps,
        )?;
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
