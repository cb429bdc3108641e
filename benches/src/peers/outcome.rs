//! The outcome of one turn of a system.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Moment;
use crate::contended::{Hold, Window, overlap};
use crate::stats::{percentile, whole};

/// The caller's number, and when it asked, acquired, began to release, and had released.
pub(crate) type Call = (usize, Moment, Moment, Moment, Moment);

/// What a program answers.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) calls: Vec<Call>,
    pub(crate) failures: usize,
    pub(crate) first_failure: Option<String>,
}

impl Measured {
    pub(crate) fn add(&mut self, other: Self) {
        self.calls.extend(other.calls);
        self.failures += other.failures;
        self.first_failure = self.first_failure.take().or(other.first_failure);
    }
}

/// One turn of one system.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// Pairs that began within the window and succeeded.
    pub(crate) pairs: usize,
    pub(crate) per_second: f64,
    /// Of a whole pair.
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) worst: Duration,
    /// How often in a second the lock went to another caller.
    pub(crate) hand_overs: f64,
    /// From a caller's question to its acquisition; also of callers that asked before the window.
    pub(crate) wait_p99: Duration,
    pub(crate) wait_worst: Duration,
    pub(crate) failures: usize,
    pub(crate) first_failure: Option<String>,
    /// Two holders of one lock at once.
    pub(crate) overlap: Option<String>,
}

impl Outcome {
    /// From the answers of all processes. `is_one_lock` is true if all callers want the same lock.
    pub(crate) fn of(processes: Vec<Measured>, window: Window, is_one_lock: bool) -> Self {
        let mut failures = Measured::default();
        let mut calls = Vec::new();
        for (process, mut answer) in processes.into_iter().enumerate() {
            let own = std::mem::take(&mut answer.calls);
            calls.extend(own.into_iter().map(|call| (process, call)));
            failures.add(answer);
        }
        calls.sort_unstable_by_key(|&(_, (_, _, acquired, ..))| acquired);
        let sorted = |mut times: Vec<u64>| {
            times.sort_unstable();
            times.into_iter().map(Duration::from_nanos).collect()
        };
        let began = calls.iter().filter(|(_, call)| window.contains(call.1));
        let pairs: Vec<_> = sorted(began.map(|(_, call)| call.4 - call.1).collect());
        let ended = calls.iter().filter(|(_, call)| call.2 >= window.begin);
        let waits: Vec<_> = sorted(ended.map(|(_, call)| call.2 - call.1).collect());
        let mut holders = calls.iter().filter(|(_, call)| window.contains(call.2));
        let mut last = holders.next();
        let mut hand_overs = 0;
        for holder in holders {
            let before = last.replace(holder);
            hand_overs +=
                usize::from(before.is_none_or(|it| (it.0, it.1.0) != (holder.0, holder.1.0)));
        }
        let seconds = window.length().as_secs_f64();
        Self {
            pairs: pairs.len(),
            per_second: whole(pairs.len()) / seconds,
            p50: percentile(&pairs, 50),
            p99: percentile(&pairs, 99),
            worst: percentile(&pairs, 100),
            hand_overs: whole(hand_overs) / seconds,
            wait_p99: percentile(&waits, 99),
            wait_worst: percentile(&waits, 100),
            failures: failures.failures,
            first_failure: failures.first_failure,
            overlap: is_one_lock.then(|| violation(&calls)).flatten(),
        }
    }
}

/// Says which two holders were inside at once, if any were.
fn violation(calls: &[(usize, Call)]) -> Option<String> {
    let holds: Vec<Hold> = calls
        .iter()
        .map(|&(process, (caller, asked, acquired, releasing, _))| Hold {
            task: 1_000 * process + caller,
            permit: 0,
            asked,
            acquired,
            releasing,
        })
        .collect();
    let (first, second) = overlap(&holds)?;
    Some(format!(
        "EXCLUSION VIOLATED: caller {} acquired {} µs before caller {} released",
        second.task,
        (first.releasing - second.acquired) / 1_000,
        first.task,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn outcome(processes: &[&[Call]]) -> Outcome {
        let answer = |calls: &&[Call]| Measured {
            calls: calls
                .iter()
                .map(|&(caller, a, b, c, d)| (caller, a * MS, b * MS, c * MS, d * MS))
                .collect(),
            ..Measured::default()
        };
        let window = Window {
            begin: 10 * MS,
            end: 1_010 * MS,
        };
        Outcome::of(processes.iter().map(answer).collect(), window, true)
    }

    #[test]
    fn only_pairs_that_began_within_the_window_count() {
        let of = outcome(&[&[
            (0, 1, 2, 3, 4),
            (0, 10, 11, 12, 14),
            (0, 1_009, 1_010, 1_011, 1_019),
        ]]);
        assert_eq!(
            (of.pairs, of.p50, of.worst),
            (2, Duration::from_millis(4), Duration::from_millis(10))
        );
        assert!(of.overlap.is_none() && of.hand_overs.abs() < 1e-9);
    }

    #[test]
    fn a_wait_from_before_the_window_counts() {
        let of = outcome(&[
            &[(0, 2, 12, 13, 14)],
            &[(0, 3, 16, 17, 18), (0, 19, 20, 21, 22)],
        ]);
        assert_eq!(of.wait_worst, Duration::from_millis(13));
        assert!((of.hand_overs - 1.0).abs() < 1e-9);
    }

    #[test]
    fn two_processes_inside_at_once_are_found() {
        let of = outcome(&[&[(0, 11, 12, 20, 21)], &[(0, 11, 19, 22, 23)]]);
        assert!(
            of.overlap
                .expect("an overlap")
                .starts_with("EXCLUSION VIOLATED")
        );
    }
}
