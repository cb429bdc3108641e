//! A file in which the processes of a fleet write down when they are inside the critical section.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Each critical section is a line `enter <id> <resource>` and a line `leave <id> <resource>`, with an
/// id that no other section of the fleet has, and `done …` in between where the work was not cut
/// off. If the lock works, each `enter` is followed by its own `leave`, for each resource.
#[derive(Debug)]
pub(crate) struct Journal {
    file: File,
    next: AtomicU64,
}

impl Journal {
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        Ok(Self {
            file: OpenOptions::new().create(true).append(true).open(path)?,
            next: AtomicU64::new(1),
        })
    }

    /// Writes `enter`; the returned value writes `leave` when it is dropped, whether the section
    /// came to its end or was cancelled.
    pub(crate) fn enter(&self, resource: &str) -> io::Result<Section<'_>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let id = format!("{}-{number} {resource}", std::process::id());
        self.append("enter", &id)?;
        Ok(Section { journal: self, id })
    }

    /// One `write` a line, to a file opened for appending: lines of several processes neither mix
    /// nor overwrite each other.
    fn append(&self, event: &str, id: &str) -> io::Result<()> {
        let line = format!("{event} {id}\n");
        let written = (&self.file).write(line.as_bytes())?;
        if written == line.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::WriteZero.into())
        }
    }
}

/// A critical section that has been entered.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    journal: &'a Journal,
    /// And the resource.
    id: String,
}

impl Section<'_> {
    /// Writes `done`: nothing of the work is left to do.
    pub(crate) fn done(&self) -> io::Result<()> {
        self.journal.append("done", &self.id)
    }
}

impl Drop for Section<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.journal.append("leave", &self.id) {
            eprintln!("cannot write to the journal: {error}");
        }
    }
}
