//! What a soak found, as a table.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::check::Violation;
use crate::history::History;
use crate::options::Options;

/// How many violations are told with all that is known of their leases.
const TOLD: usize = 10;

pub(crate) struct Report {
    pub(crate) options: Options,
    /// How long faults were injected.
    pub(crate) faulty: Duration,
    /// From the end of the faults until every resource was acquired again.
    pub(crate) recovery: Duration,
    pub(crate) history: History,
    pub(crate) found: Vec<Violation>,
    /// Where the journals are, if they were kept.
    pub(crate) kept: Option<PathBuf>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}", self.options)?;
        let mut rows = self.history.counts.clone();
        rows.insert("seconds of faults".to_owned(), self.faulty.as_secs());
        let recovery = u64::try_from(self.recovery.as_millis()).unwrap_or(u64::MAX);
        rows.insert("ms until all were acquired again".to_owned(), recovery);
        let mut violated = BTreeMap::new();
        for violation in &self.found {
            *violated.entry(violation.name()).or_default() += 1;
        }
        for (name, value) in rows.into_iter().chain(violated) {
            writeln!(f, "{name:<50} {value:>9}")?;
        }
        for violation in self.found.iter().take(TOLD) {
            writeln!(f, "{violation:?}")?;
            for lease in violation.leases() {
                writeln!(f, "    {:?}", self.history.leases.get(&lease))?;
            }
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
