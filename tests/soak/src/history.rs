//! What all workers wrote down, put together.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::check::Violation;
use crate::clock::Moment;
use crate::event::{Event, Held, LeaseId};

/// One history, for all who add to it.
pub(crate) type Shared = Arc<Mutex<History>>;

/// Everything that was read so far.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) leases: HashMap<LeaseId, Held>,
    /// The rows of the table.
    pub(crate) counts: BTreeMap<String, u64>,
    /// Violations that holders and workers found themselves.
    pub(crate) found: Vec<Violation>,
    /// The workers' journals, which grow while they are read.
    journals: Vec<Unread>,
}

/// The unread part of a journal, and the beginning of a line that is still being written.
#[derive(Debug)]
struct Unread(BufReader<File>, String);

impl History {
    /// Creates the journal of a worker at `path`.
    pub(crate) fn add_journal(&mut self, path: &Path) {
        let file = File::create_new(path).and_then(|_| File::open(path));
        let file = BufReader::new(file.expect("a file in a directory of our own"));
        self.journals.push(Unread(file, String::new()));
    }

    /// Reads what was written since the last call.
    ///
    /// What follows the last line break is left: either it is still being written, or its writer
    /// was killed in the middle. What it would have written next, it did not do.
    pub(crate) fn catch_up(&mut self) {
        let mut journals = std::mem::take(&mut self.journals);
        for Unread(file, line) in &mut journals {
            while file.read_line(line).expect("a journal is text") > 0 && line.ends_with('\n') {
                self.add(serde_json::from_str(line).expect("a line of a journal"));
                line.clear();
            }
        }
        self.journals = journals;
    }

    pub(crate) fn add(&mut self, event: Event) {
        match event {
            Event::Enter(held) => {
                self.count("acquisitions");
                if held.token.is_some() {
                    self.count("acquisitions with a fencing token");
                }
                if held.names.iter().any(|name| name.contains('#')) {
                    self.count("acquisitions of permits after the first");
                }
                self.leases.insert(held.lease, held);
            }
            Event::Until(lease, until) => self.held(lease).until = until,
            Event::Unfit(lease, highest) => self.found.push(Violation::Unfit(lease, highest)),
            Event::Count(row) => self.count(&row),
            Event::Broken(text) => self.found.push(Violation::Worker(text)),
        }
    }

    fn held(&mut self, lease: LeaseId) -> &mut Held {
        let held = self.leases.get_mut(&lease);
        held.expect("a holder enters first")
    }

    pub(crate) fn count(&mut self, row: &str) {
        *self.counts.entry(row.to_owned()).or_default() += 1;
    }

    /// When `name` was last entered.
    pub(crate) fn last_entered(&self, name: &String) -> Option<Moment> {
        let leases = self.leases.values();
        let of_name = leases.filter(|held| held.names.contains(name));
        of_name.map(|held| held.entered).max()
    }
}
