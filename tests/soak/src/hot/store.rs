//! The store behind hot locks: a file for each lock, to which each lease appends its number as it begins.
//!
//! The kernel appends the records of all processes in one order, and that is the order in which the store gets the
//! writes. A process that is stopped or killed in between holds up nobody. The store accepts a number above all earlier
//! ones, and refuses any other. A holder looks at its lease after the write, and withdraws the write if the lease is over
//! by then. So a refused write that was not withdrawn, though its caller came back, is of a valid lease.

use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use crate::check::Violation;
use crate::event::LeaseId;
use crate::options::Options;

const BYTES: usize = 16;

/// The end of a record that withdraws the write before.
const OVER: u64 = 0;

/// The writes of one lock, for a worker.
#[derive(Debug)]
pub(crate) struct Log(File);

impl Log {
    pub(crate) fn open(folder: &Path, lock: u32) -> io::Result<Self> {
        let file = OpenOptions::new()
            .append(true)
            .open(path_of(folder, lock))?;
        Ok(Self(file))
    }

    /// Writes the number of a lease of `caller`.
    pub(crate) fn enter(&self, caller: LeaseId, number: u64) -> io::Result<()> {
        let mut record = [0; BYTES];
        record[..8].copy_from_slice(&number.to_le_bytes());
        record[8..12].copy_from_slice(&caller.0.to_le_bytes());
        record[12..].copy_from_slice(&caller.1.to_le_bytes());
        (&self.0).write_all(&record)
    }

    /// Withdraws the last write of `caller`, because its lease is over.
    pub(crate) fn withdraw(&self, caller: LeaseId) -> io::Result<()> {
        self.enter(caller, OVER)
    }
}

fn path_of(folder: &Path, lock: u32) -> PathBuf {
    folder.join(format!("lock-{lock}"))
}

/// The stores of all locks, as they are read.
pub(crate) struct Stores {
    locks: Vec<Reader>,
    pub(crate) found: Vec<Violation>,
}

struct Reader {
    file: BufReader<File>,
    /// The beginning of a record that is still being written.
    part: Vec<u8>,
    lock: Lock,
}

/// One store.
#[derive(Default)]
struct Lock {
    highest: u64,
    writer: LeaseId,
    turns: u64,
    taken_over: u64,
    late: u64,
    withdrawn: u64,
    /// The refused writes of callers that have not come back.
    refused: HashMap<LeaseId, u64>,
}

impl Stores {
    pub(crate) fn create(folder: &Path, options: &Options) -> Self {
        let open = |lock| {
            let path = path_of(folder, lock);
            let file = File::create_new(&path).and_then(|_| File::open(&path));
            Reader {
                file: BufReader::new(file.expect("a file in a directory of our own")),
                part: Vec::new(),
                lock: Lock::default(),
            }
        };
        Self {
            locks: (0..options.resources).map(open).collect(),
            found: Vec::new(),
        }
    }

    /// Reads what was written since the last call.
    pub(crate) fn catch_up(&mut self) {
        for reader in &mut self.locks {
            reader
                .file
                .read_to_end(&mut reader.part)
                .expect("a file in a directory of our own");
            let whole = reader.part.len() / BYTES * BYTES;
            for record in reader.part.drain(..whole).as_slice().chunks(BYTES) {
                let number = |at: usize, bytes: usize| {
                    let mut whole = [0; 8];
                    whole[..bytes].copy_from_slice(&record[at..at + bytes]);
                    u64::from_le_bytes(whole)
                };
                let half = |at| u32::try_from(number(at, 4)).unwrap_or(0);
                let caller = LeaseId(half(8), half(12));
                self.found.extend(reader.lock.record(caller, number(0, 8)));
            }
        }
    }

    pub(crate) fn turns_of_each(&self) -> Vec<u64> {
        self.locks.iter().map(|reader| reader.lock.turns).collect()
    }

    /// True if a lock had fewer than `turns` since `then`.
    pub(crate) fn is_stuck_since(&self, then: &[u64], turns: u64) -> bool {
        let now = self.turns_of_each();
        now.iter().zip(then).any(|(now, then)| *now < then + turns)
    }

    pub(crate) fn rows(&self) -> BTreeMap<String, u64> {
        let sum = |of: fn(&Lock) -> u64| self.locks.iter().map(|it| of(&it.lock)).sum();
        [
            ("turns", sum(|lock| lock.turns)),
            ("turns that were taken over", sum(|lock| lock.taken_over)),
            ("late writes refused by the store", sum(|lock| lock.late)),
            (
                "writes after the end of the lease",
                sum(|lock| lock.withdrawn),
            ),
        ]
        .map(|(row, count)| (row.to_owned(), count))
        .into()
    }
}

impl Lock {
    /// Reads one record of `caller`.
    fn record(&mut self, caller: LeaseId, number: u64) -> Option<Violation> {
        let refused = self.refused.remove(&caller);
        if number == OVER {
            self.late += u64::from(refused.is_some());
            self.withdrawn += 1;
            return None;
        }
        // The caller came back after the refused write, so its lease was valid.
        let unfit = refused.map(|highest| Violation::Unfit(caller, highest));
        self.turns += 1;
        if number == self.highest {
            return Some(Violation::SameToken(self.writer, caller));
        }
        if number < self.highest {
            self.refused.insert(caller, self.highest);
            return unfit;
        }
        // An acquisition leaves out the number that readers would have had.
        let is_taken_over = number == self.highest + 1 && caller.0 == self.writer.0;
        self.taken_over += u64::from(is_taken_over);
        (self.highest, self.writer) = (number, caller);
        unfit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: LeaseId = LeaseId(1, 1);
    const TWO: LeaseId = LeaseId(2, 1);

    fn found(records: &[(LeaseId, u64)]) -> Vec<Violation> {
        let mut lock = Lock::default();
        let found = records
            .iter()
            .map(|(caller, number)| lock.record(*caller, *number));
        found.flatten().collect()
    }

    #[test]
    fn number_of_two_leases_is_found() {
        assert_eq!(
            found(&[(ONE, 7), (TWO, 7)]),
            [Violation::SameToken(ONE, TWO)]
        );
    }

    #[test]
    fn refused_write_of_a_valid_lease_is_found() {
        let refused = [(TWO, 9), (ONE, 7)];
        assert_eq!(found(&refused), [], "its caller may be dead");
        let came_back = [&refused[..], &[(ONE, 10)]].concat();
        assert_eq!(found(&came_back), [Violation::Unfit(ONE, 9)]);
        let withdrew = [&refused[..], &[(ONE, OVER), (ONE, 10)]].concat();
        assert_eq!(found(&withdrew), []);
    }

    #[test]
    fn next_number_of_one_process_is_of_a_lease_taken_over() {
        let mut lock = Lock::default();
        for (caller, number) in [(ONE, 7), (LeaseId(1, 2), 8), (TWO, 9), (TWO, 11)] {
            assert_eq!(lock.record(caller, number), None);
        }
        assert_eq!((lock.turns, lock.taken_over), (4, 1));
    }
}
