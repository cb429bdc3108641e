//! A writer among readers, of which some always hold the lock.

use std::time::Duration;

use redlock_tests::Nodes;
use tokio::runtime::Runtime;

use super::{CONNECT_TIMEOUT, Flavor, runtime};
use crate::contended::{Crew, Hold, Lock, Log, Turn, Window, hammer};
use crate::contender::{Contender, Kind, Ours, rounds};
use crate::load::{PREFIX, keys_left};
use crate::plan::Plan;
use crate::report::{Named, Report};
use crate::stats::{millis, percentile, whole};

const CASE: &str = "a writer among 2 × 8 readers of 20 ms";

/// The readers of each process.
const READERS: [usize; 2] = [8; 2];

/// The time for which a reader stays.
const READ: Duration = Duration::from_millis(20);

/// The time for which the writer stays, and the average time for which it stays away.
const WRITE: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

/// The names of the writers, and their locks.
const WRITERS: [(&str, Lock); 2] = [
    ("kind = \"write\"", Lock::Write),
    ("the plain lock", Lock::PlainWrite),
];

/// The figures of a writer's turn.
struct Figures {
    /// The waits of the writer, sorted. Those that were given up are among them.
    waits: Vec<Duration>,
    /// The parts of these waits after the last reader left that was in when the writer asked.
    behind_readers: Vec<Duration>,
    given_up: usize,
    writes_per_second: f64,
    reader_waits: Vec<Duration>,
    reads_per_second: f64,
    problems: Vec<String>,
}

/// Measures how long the writer waits, if it takes part in the fairness and if it does not.
pub fn kinds_writer(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let runtime = runtime(Flavor::MultiThread);
    let urls = nodes.urls();
    let mut crew = Crew::start(READERS.len(), &urls);
    let ours = runtime.block_on(Ours::connect(&urls, CONNECT_TIMEOUT));
    let ours = Contender::Ours(ours);
    let all = rounds(plan.rounds, WRITERS.len(), |place| {
        let figures = take_turn(plan, WRITERS[place].1, &mut crew, &ours, &runtime);
        report.left_behind(CASE, &runtime.block_on(keys_left(nodes)));
        figures
    });
    for ((who, _), rounds) in WRITERS.iter().zip(&all) {
        for figures in rounds {
            report.count(figures.waits.len());
            for problem in &figures.problems {
                report.problem(format!("{who}: {problem}"));
            }
        }
        report.add(CASE, who, &FIGURES, rounds);
    }
}

fn take_turn(
    plan: &Plan,
    lock: Lock,
    crew: &mut Crew,
    ours: &Contender,
    runtime: &Runtime,
) -> Figures {
    let reading = Turn {
        kind: Kind::Ours,
        key: format!("{PREFIX}writer"),
        lock: Lock::Read,
        crowds: READERS.to_vec(),
        hold: READ,
        pause: Duration::ZERO,
        retry_delay: Duration::ZERO,
        window: Window::after(plan.warm_up.max(READ), 3 * plan.held),
    };
    let [hold, pause] = WRITE;
    let writing = Turn {
        lock,
        crowds: vec![1],
        hold,
        pause,
        ..reading.clone()
    };
    crew.order(&reading);
    let writes = runtime.block_on(hammer(ours, &writing, 0));
    Figures::of(&writing, &writes, &crew.logs())
}

impl Figures {
    fn of(turn: &Turn, writes: &Log, reads: &[Log]) -> Self {
        let readers: Vec<Hold> = reads
            .iter()
            .flat_map(|log| log.holds.iter().copied())
            .collect();
        let sorted = |times: &mut dyn Iterator<Item = u64>| {
            let mut times: Vec<_> = times.map(Duration::from_nanos).collect();
            times.sort_unstable();
            times
        };
        let given_up = std::iter::repeat_n(turn.lock.patience(), writes.refused);
        let mut waits = sorted(&mut writes.holds.iter().map(|of| of.acquired - of.asked));
        waits.extend(given_up);
        let behind = writes.holds.iter().map(|of| {
            let were_in = readers
                .iter()
                .filter(|reader| reader.acquired <= of.asked && of.asked < reader.releasing);
            let left = were_in.map(|reader| reader.releasing).max();
            of.acquired.saturating_sub(left.unwrap_or(of.asked))
        });
        let measured = readers
            .iter()
            .filter(|of| turn.window.contains(of.acquired));
        let reader_waits = sorted(&mut measured.map(|of| of.acquired - of.asked));
        let seconds = turn.window.length().as_secs_f64();
        Self {
            behind_readers: sorted(&mut behind.into_iter()),
            waits,
            given_up: writes.refused,
            writes_per_second: whole(writes.holds.len()) / seconds,
            reads_per_second: whole(reader_waits.len()) / seconds,
            reader_waits,
            problems: problems(&readers, writes, reads),
        }
    }
}

fn problems(readers: &[Hold], writes: &Log, reads: &[Log]) -> Vec<String> {
    let mut problems = Vec::new();
    for write in &writes.holds {
        let is_beside =
            |read: &&Hold| read.acquired < write.releasing && write.acquired < read.releasing;
        if let Some(read) = readers.iter().find(is_beside) {
            let micros = read.acquired.abs_diff(write.acquired) / 1_000;
            problems.push(format!(
                "EXCLUSION VIOLATED: a reader acquired {micros} µs before or after the writer"
            ));
        }
    }
    let reads_failed = reads.iter().map(|log| log.failures + log.refused);
    let failures = writes.failures + reads_failed.sum::<usize>();
    if failures > 0 {
        let mut logs = reads.iter().chain([writes]);
        let first = logs.find_map(|log| log.first_error.as_deref());
        let first = first.unwrap_or_default();
        problems.push(format!(
            "{failures} reads or releases failed, first: {first}"
        ));
    }
    problems
}

const FIGURES: [Named<Figures>; 9] = [
    ("wait_p50_ms", |of| millis(percentile(&of.waits, 50))),
    ("wait_p99_ms", |of| millis(percentile(&of.waits, 99))),
    ("wait_worst_ms", |of| millis(percentile(&of.waits, 100))),
    ("behind_readers_p50_ms", |of| {
        millis(percentile(&of.behind_readers, 50))
    }),
    ("behind_readers_p99_ms", |of| {
        millis(percentile(&of.behind_readers, 99))
    }),
    ("given_up", |of| whole(of.given_up)),
    ("writes_per_second", |of| of.writes_per_second),
    ("reads_per_second", |of| of.reads_per_second),
    ("reader_wait_p99_ms", |of| {
        millis(percentile(&of.reader_waits, 99))
    }),
];
