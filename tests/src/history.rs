//! Who was in the critical section, and when: a log that several processes share.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

/// A file to which each holder of a lock appends `enter <id>` and `leave <id>`.
///
/// Each line is one `write` on a file opened for appending, so that lines of several processes
/// neither mix nor overwrite each other, and their order in the file is the order in time.
#[derive(Debug)]
pub struct CriticalLog(File);

impl CriticalLog {
    /// Opens the log, creating it if need be.
    pub fn open(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        let file = OpenOptions::new().create(true).append(true).open(path);
        Self(file.unwrap_or_else(|error| panic!("cannot open {}: {error}", path.display())))
    }

    /// The first thing a holder does. An id is one word, unique to one critical section.
    pub fn enter(&self, id: &str) {
        self.append("enter", id);
    }

    /// The last thing a holder does. A test that kills a holder writes this line in its place,
    /// after the kill.
    pub fn leave(&self, id: &str) {
        self.append("leave", id);
    }

    fn append(&self, event: &str, id: &str) {
        assert!(
            !id.is_empty() && !id.contains(char::is_whitespace),
            "an id is one word, not {id:?}"
        );
        (&self.0)
            .write_all(format!("{event} {id}\n").as_bytes())
            .expect("the log can be written");
    }
}

/// Checks that no two critical sections overlapped: each `enter` is followed by the `leave` of the
/// same id. Returns how many sections there were, or what was wrong, with the line.
pub fn check_no_overlap(path: impl AsRef<Path>) -> Result<usize, String> {
    let path = path.as_ref();
    let log = std::fs::read_to_string(path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    check(&log)
}

fn check(log: &str) -> Result<usize, String> {
    let mut inside: Option<&str> = None;
    let mut sections = 0;
    for (line, number) in log.lines().zip(1..) {
        match (line.split_once(' '), inside) {
            (Some(("enter", id)), None) => inside = Some(id),
            (Some(("enter", id)), Some(holder)) => {
                return Err(format!(
                    "line {number}: {id} entered while {holder} was inside"
                ));
            }
            (Some(("leave", id)), Some(holder)) if id == holder => {
                inside = None;
                sections += 1;
            }
            (Some(("leave", id)), Some(holder)) => {
                return Err(format!(
                    "line {number}: {id} left while {holder} was inside"
                ));
            }
            (Some(("leave", id)), None) => {
                return Err(format!("line {number}: {id} left without having entered"));
            }
            _ => return Err(format!("line {number}: not a line of this log: {line:?}")),
        }
    }
    match inside {
        Some(id) => Err(format!("the log ends while {id} is inside")),
        None => Ok(sections),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::temp_dir::TempDir;

    #[test]
    fn sections_one_after_the_other_are_counted() {
        let log = "enter a\nleave a\nenter b\nleave b\nenter a\nleave a\n";
        assert_eq!(check(log), Ok(3));
        assert_eq!(check(""), Ok(0));
    }

    #[test]
    fn overlap_is_found() {
        let log = "enter a\nleave a\nenter b\nenter c\nleave b\nleave c\n";
        let error = check(log).unwrap_err();
        assert_eq!(error, "line 4: c entered while b was inside");
    }

    #[test]
    fn a_section_inside_another_is_found() {
        assert!(check("enter a\nenter b\nleave b\nleave a\n").is_err());
    }

    #[test]
    fn reentry_under_one_id_is_found() {
        assert!(check("enter a\nenter a\nleave a\nleave a\n").is_err());
    }

    #[test]
    fn unpaired_and_foreign_lines_are_found() {
        assert!(check("leave a\n").is_err());
        assert!(check("enter a\nleave b\n").is_err());
        assert!(check("enter a\n").is_err());
        assert!(check("entered\n").is_err());
    }

    #[test]
    fn writers_with_handles_of_their_own_share_one_file() {
        let dir = TempDir::new();
        let path = dir.path().join("log");
        let (one, two) = (CriticalLog::open(&path), CriticalLog::open(&path));
        one.enter("1");
        one.leave("1");
        two.enter("2");
        two.leave("2");
        assert_eq!(check_no_overlap(&path), Ok(2));
        one.enter("3");
        two.enter("4");
        one.leave("3");
        two.leave("4");
        assert!(check_no_overlap(&path).is_err());
    }
}
