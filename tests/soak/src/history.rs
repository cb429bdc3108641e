//! What all workers wrote down, put together.

use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::clock::Moment;
use crate::event::{Enter, Event, How, Kind, LeaseId, Longer};

/// One lease, from what its holder wrote.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    pub(crate) enter: Enter,
    /// The end of its validity, as far as the holder knew. Of a holder that was killed: the last
    /// end that it wrote down, because it sent no release before it wrote that it leaves.
    pub(crate) until: Moment,
    /// `None` of a holder that was killed.
    pub(crate) how: Option<How>,
}

/// Everything that was read so far.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) leases: HashMap<LeaseId, Held>,
    pub(crate) counts: BTreeMap<Kind, u64>,
    pub(crate) longer: BTreeMap<Longer, u64>,
    /// The highest token that the store had seen when it refused a lease that was still valid.
    pub(crate) unfit: Vec<(LeaseId, u64)>,
    pub(crate) broken: Vec<String>,
    /// When each resource was last entered.
    pub(crate) last_entered: HashMap<String, Moment>,
}

impl History {
    pub(crate) fn read_line(&mut self, line: &str) {
        let Ok(event) = line.parse::<Event>() else {
            self.broken.push(format!("not a line of a journal: {line}"));
            return;
        };
        match event {
            Event::Enter(enter) => {
                for name in &enter.claimed.names {
                    let last = self.last_entered.entry(name.clone()).or_default();
                    *last = enter.entered.max(*last);
                }
                let held = Held {
                    until: enter.until,
                    how: None,
                    enter,
                };
                self.leases.insert(held.enter.lease, held);
            }
            Event::Until { lease, until, why } => {
                *self.longer.entry(why).or_default() += 1;
                self.with_lease(lease, |held| held.until = held.until.max(until));
            }
            Event::Leave { lease, until, how } => self.with_lease(lease, |held| {
                held.until = until;
                held.how = Some(how);
            }),
            Event::Unfit { lease, highest } => self.unfit.push((lease, highest)),
            Event::Count(kind) => *self.counts.entry(kind).or_default() += 1,
            Event::Broken(text) => self.broken.push(text),
        }
    }

    fn with_lease(&mut self, lease: LeaseId, change: impl FnOnce(&mut Held)) {
        match self.leases.get_mut(&lease) {
            Some(held) => change(held),
            None => self.broken.push(format!("{lease} was never entered")),
        }
    }

    pub(crate) fn count(&self, kind: Kind) -> u64 {
        self.counts.get(&kind).copied().unwrap_or(0)
    }

    pub(crate) fn ended(&self, how: How) -> usize {
        let ends = self.leases.values().filter(|held| held.how == Some(how));
        ends.count()
    }

    /// The leases whose holders were killed.
    pub(crate) fn never_left(&self) -> usize {
        self.leases
            .values()
            .filter(|held| held.how.is_none())
            .count()
    }
}

/// The workers' journals, which grow while they are read.
#[derive(Debug, Default)]
pub(crate) struct Journals(Vec<Journal>);

#[derive(Debug)]
struct Journal {
    path: PathBuf,
    /// How far it was read: up to the end of a line.
    read: u64,
}

impl Journals {
    pub(crate) fn add(&mut self, path: PathBuf) {
        self.0.push(Journal { path, read: 0 });
    }

    /// Reads what was written since the last call.
    ///
    /// What follows the last line break is left: either it is still being written, or its writer
    /// was killed in the middle. What it would have written next, it did not do.
    pub(crate) fn read_into(&mut self, history: &mut History) -> io::Result<()> {
        for journal in &mut self.0 {
            let mut file = match File::open(&journal.path) {
                Ok(file) => file,
                // The worker has not begun yet.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            };
            file.seek(SeekFrom::Start(journal.read))?;
            let mut text = String::new();
            file.read_to_string(&mut text)?;
            let whole = text.rfind('\n').map_or(0, |last| last + 1);
            journal.read += whole as u64;
            for line in text[..whole].lines() {
                history.read_line(line);
            }
        }
        Ok(())
    }

    /// All that was written of `lease`.
    pub(crate) fn lines_of(&self, lease: LeaseId) -> Vec<String> {
        let word = lease.to_string();
        let mut lines = Vec::new();
        for journal in &self.0 {
            let text = std::fs::read_to_string(&journal.path).unwrap_or_default();
            let of_lease = text
                .lines()
                .filter(|line| line.split(' ').nth(1) == Some(&word));
            lines.extend(of_lease.map(str::to_owned));
        }
        lines
    }
}

/// A directory for the journals and the store's socket. It stays where something was violated.
#[derive(Debug)]
pub(crate) struct Workdir {
    path: PathBuf,
    pub(crate) is_kept: bool,
}

impl Workdir {
    pub(crate) fn new() -> io::Result<Self> {
        let name = format!("redlock-soak-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        // The directory may be left from a killed process with the same id.
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir(&path)?;
        Ok(Self {
            path,
            is_kept: false,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Workdir {
    fn drop(&mut self) {
        if !self.is_kept {
            // Litter, where it cannot be removed, and no reason to fail.
            let _ = std::fs::remove_dir_all(&self.path);
        }
    }
}
