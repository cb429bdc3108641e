//! A log of entries into the critical section, and of exits, which several processes share.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// A file to which each holder of a lock appends `enter <id>` and `leave <id>`.
///
/// If a log covers several locks, each line has the lock's resource after the id. A line `done <id>` in between says
/// that the work was completed.
///
/// Each line is one `write` on a file that is open for appending. So lines of several processes stay whole, and their
/// order in the file is the order in time.
#[derive(Debug)]
pub struct CriticalLog(File);

impl CriticalLog {
    /// Opens the log, creating it if need be.
    pub fn open(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let file = OpenOptions::new().create(true).append(true).open(path);
        Self(file.unwrap_or_else(|error| panic!("cannot open {}: {error}", path.display())))
    }

    /// Records that a holder enters. An id is one word, unique to one critical section; the resource may follow it.
    pub fn enter(&self, id: &str) {
        self.append("enter", id);
    }

    /// Records that a holder has completed its work.
    pub fn done(&self, id: &str) {
        self.append("done", id);
    }

    /// Records that a holder leaves. After a test has killed a holder, the test calls this instead.
    pub fn leave(&self, id: &str) {
        self.append("leave", id);
    }

    fn append(&self, event: &str, id: &str) {
        let words = id.split(char::is_whitespace).count();
        assert!(!id.is_empty() && words <= 2, "not an id: {id:?}");
        (&self.0)
            .write_all(format!("{event} {id}\n").as_bytes())
            .expect("the log can be written");
    }
}

/// One critical section of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The id of the caller that was inside.
    pub id: String,
    /// The resource of the lock, or an empty text if the log covers only one lock.
    pub resource: String,
    /// True if the work was completed.
    pub is_done: bool,
}

/// Checks that each `enter` of a lock is followed by the `leave` of the same id.
///
/// Then no two critical sections of the lock overlapped. Returns the number of sections, or the wrong line.
pub fn check_no_overlap(path: impl AsRef<Path>) -> Result<usize, String> {
    sections(path).map(|sections| sections.len())
}

/// Checks a log, and returns its sections in the order in which they ended.
pub fn sections(path: impl AsRef<Path>) -> Result<Vec<Section>, String> {
    let (ended, inside) = sections_so_far(path)?;
    match inside.first() {
        Some(section) => Err(format!("the log ends while {} is inside", section.id)),
        None => Ok(ended),
    }
}

/// Checks a log while holders may still be inside. Returns the ended and the open sections.
pub fn sections_so_far(path: impl AsRef<Path>) -> Result<(Vec<Section>, Vec<Section>), String> {
    let path = path.as_ref();
    let log = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    check(&log)
}

fn check(log: &str) -> Result<(Vec<Section>, Vec<Section>), String> {
    let mut inside: BTreeMap<&str, Section> = BTreeMap::new();
    let mut ended = Vec::new();
    for (line, number) in log.lines().zip(1..) {
        let (event, who) = line.split_once(' ').unwrap_or((line, ""));
        let (id, resource) = who.split_once(' ').unwrap_or((who, ""));
        let wrong = |what: String| Err(format!("line {number}: {what}"));
        match (event, inside.get_mut(resource)) {
            (_, _) if id.is_empty() => return wrong(format!("not a line of this log: {line:?}")),
            ("enter", None) => {
                let section = Section {
                    id: id.into(),
                    resource: resource.into(),
                    is_done: false,
                };
                inside.insert(resource, section);
            }
            ("enter", Some(holder)) => {
                return wrong(format!("{id} entered while {} was inside", holder.id));
            }
            ("done", Some(holder)) if holder.id == id => holder.is_done = true,
            ("leave", Some(holder)) if holder.id == id => ended.extend(inside.remove(resource)),
            ("done" | "leave", Some(holder)) => {
                return wrong(format!("{id}: {event} while {} was inside", holder.id));
            }
            ("done" | "leave", None) => {
                return wrong(format!("{id}: {event} without having entered"));
            }
            _ => return wrong(format!("not a line of this log: {line:?}")),
        }
    }
    Ok((ended, inside.into_values().collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the ids of callers that were inside and have left.
    fn ids(log: &str) -> Vec<String> {
        let (ended, inside) = check(log).unwrap();
        assert_eq!(inside, []);
        ended.into_iter().map(|section| section.id).collect()
    }

    #[test]
    fn sections_one_after_the_other_are_counted() {
        let log = "enter a\nleave a\nenter b\nleave b\nenter a\nleave a\n";
        assert_eq!(ids(log), ["a", "b", "a"]);
        assert!(ids("").is_empty());
    }

    #[test]
    fn sections_of_different_locks_alone_may_overlap() {
        assert_eq!(
            ids("enter a r\nenter b s\nleave a r\nleave b s\n"),
            ["a", "b"]
        );
        assert!(check("enter a r\nenter b s\nenter c r\n").is_err());
        assert!(check("enter a r\nleave a s\n").is_err());
    }

    #[test]
    fn work_that_was_not_cut_off_is_told_apart() {
        let (ended, inside) = check("enter a\ndone a\nleave a\nenter b\n").unwrap();
        assert!(ended[0].is_done && !inside[0].is_done);
        assert!(check("enter a\ndone b\n").is_err());
        assert!(check("done a\n").is_err());
    }

    #[test]
    fn overlap_is_found() {
        let log = "enter a\nleave a\nenter b\nenter c\nleave b\nleave c\n";
        let error = check(log).unwrap_err();
        assert_eq!(error, "line 4: c entered while b was inside");
    }

    #[test]
    fn unpaired_and_foreign_lines_are_found() {
        assert!(check("leave a\n").is_err());
        assert!(check("enter a\nleave b\n").is_err());
        assert!(check("entered a\n").is_err());
        assert!(check("entered\n").is_err());
    }
}
