//! A writer among readers, of which some always hold the lock.

use std::time::Duration;

use redlock_core::request::Kind as LockKind;
use redlock_tests::Nodes;
use tokio::runtime::Runtime;

/// The longest that readers which a writer kept out may take to go in.
const READERS_TURN: Duration = Duration::from_millis(50);

use super::CONNECT_TIMEOUT;
use crate::cases::{Flavor, runtime};
use crate::clock::{Moment, now};
use crate::contended::{Crew, Hold, Lock, Log, Turn, Window};
use crate::contender::{Kind, Ours, in_turn, keep, release};
use crate::load::{PREFIX, keys_left};
use crate::plan::Plan;
use crate::report::Bound::AtMost;
use crate::report::{Named, Report};
use crate::stats::{Spread, millis, percentile, whole};
use crate::table::Table;

const PROCESSES: usize = 2;
/// Of each process.
const READERS: usize = 8;
/// How long a reader stays.
const READ: Duration = Duration::from_millis(20);
/// How long the writer stays.
const WRITE: Duration = Duration::from_millis(1);
/// How long the writer stays away, on average: half of this to one and a half of it.
const PAUSE: Duration = Duration::from_millis(20);
/// When the writer gives up.
const PATIENCE: Duration = Duration::from_secs(1);

/// How the writer asks.
const WRITERS: [(&str, LockKind); 2] = [
    ("kind = \"write\"", LockKind::Write),
    ("the plain lock", LockKind::Plain),
];

/// What the writer's turn amounts to.
struct Figures {
    /// Those that were given up are in it, with the time that they took.
    waits: Vec<Duration>,
    /// From the moment when the last reader left that was in when the writer asked.
    behind_readers: Vec<Duration>,
    given_up: usize,
    writes_per_second: f64,
    reads_per_second: f64,
    reader_p99: Duration,
    problems: Vec<String>,
}

/// How long the writer waits, if it takes part in the fairness and if it does not.
pub fn kinds_writer(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let runtime = runtime(Flavor::MultiThread);
    let urls = nodes.urls();
    let mut crew = Crew::start(PROCESSES, &urls);
    let ours = runtime.block_on(Ours::connect(&urls, CONNECT_TIMEOUT));
    let mut rounds = [const { Vec::new() }; WRITERS.len()];
    for round in 0..plan.rounds {
        for place in in_turn(WRITERS.len(), round) {
            let (_, kind) = WRITERS[place];
            let mut figures = turn(plan, kind, &mut crew, &ours, &runtime);
            if let Some(first) = runtime.block_on(keys_left(nodes)).first() {
                figures.problems.push(format!("keys left, first: {first}"));
            }
            rounds[place].push(figures);
        }
    }
    print(&rounds, report);
}

fn turn(plan: &Plan, kind: LockKind, crew: &mut Crew, ours: &Ours, runtime: &Runtime) -> Figures {
    let turn = Turn {
        kind: Kind::Ours,
        key: format!("{PREFIX}writer"),
        lock: Lock::Read,
        crowds: vec![READERS; PROCESSES],
        hold: READ,
        pause: Duration::ZERO,
        retry_delay: Duration::ZERO,
        window: Window::after(plan.warm_up.max(READ), 3 * plan.held),
    };
    crew.order(&turn);
    let task = write(ours.clone(), kind, turn.clone());
    let writes = runtime.block_on(async { tokio::spawn(task).await });
    let writes = writes.expect("a writer that does not panic");
    Figures::of(&turn, &writes, &crew.logs())
}

/// The writer: asks, stays for a moment, leaves, and comes again.
async fn write(ours: Ours, kind: LockKind, turn: Turn) -> Log {
    let mut log = Log::default();
    let until_begin = turn.window.begin.saturating_sub(now());
    tokio::time::sleep(Duration::from_nanos(until_begin)).await;
    loop {
        let asked = now();
        if asked >= turn.window.end {
            return log;
        }
        match ours.wait_for(&turn.key, kind, PATIENCE).await {
            Err(error) => {
                log.refused += 1;
                log.first_error.get_or_insert(error);
                // It was never inside.
                log.holds.push(Hold {
                    task: 0,
                    permit: 0,
                    asked,
                    acquired: now(),
                    releasing: asked,
                });
            }
            Ok(lease) => {
                let acquired = now();
                keep(WRITE).await;
                log.holds.push(Hold {
                    task: 0,
                    permit: 0,
                    asked,
                    acquired,
                    releasing: now(),
                });
                if let Err(error) = release(lease).await {
                    log.failures += 1;
                    log.first_error.get_or_insert(error);
                }
            }
        }
        let pause = PAUSE.mul_f64(rand::random_range(0.5..1.5));
        tokio::time::sleep(pause).await;
    }
}

impl Figures {
    fn of(turn: &Turn, writes: &Log, reads: &[Log]) -> Self {
        let readers: Vec<Hold> = reads
            .iter()
            .flat_map(|log| log.holds.iter().copied())
            .collect();
        let span = |from: Moment, to: Moment| Duration::from_nanos(to.saturating_sub(from));
        let sorted = |mut times: Vec<Duration>| {
            times.sort_unstable();
            times
        };
        let waits = writes.holds.iter().map(|of| span(of.asked, of.acquired));
        let got = || writes.holds.iter().filter(|of| of.releasing >= of.acquired);
        let behind = got().map(|of| {
            let were_in = readers
                .iter()
                .filter(|reader| reader.acquired <= of.asked && of.asked < reader.releasing);
            let left = were_in.map(|reader| reader.releasing).max();
            span(left.unwrap_or(of.asked), of.acquired)
        });
        let measured = readers
            .iter()
            .filter(|of| turn.window.contains(of.acquired));
        let reader_waits: Vec<_> = measured.map(|of| span(of.asked, of.acquired)).collect();
        let seconds = turn.window.length().as_secs_f64();
        Self {
            waits: sorted(waits.collect()),
            behind_readers: sorted(behind.collect()),
            given_up: writes.refused,
            writes_per_second: whole(got().count()) / seconds,
            reads_per_second: whole(reader_waits.len()) / seconds,
            reader_p99: percentile(&sorted(reader_waits), 99),
            problems: problems(got(), &readers, writes, reads),
        }
    }
}

fn problems<'a>(
    holds: impl Iterator<Item = &'a Hold>,
    readers: &[Hold],
    writer: &Log,
    reads: &[Log],
) -> Vec<String> {
    let mut problems = Vec::new();
    for write in holds {
        let beside = readers
            .iter()
            .find(|reader| reader.acquired < write.releasing && write.acquired < reader.releasing);
        if let Some(reader) = beside {
            let micros = |moment: Moment| moment.abs_diff(write.acquired) / 1_000;
            problems.push(format!(
                "EXCLUSION VIOLATED: a reader acquired {} µs and left {} µs beside the writer's \
                 acquisition",
                micros(reader.acquired),
                micros(reader.releasing),
            ));
        }
    }
    let failures = writer.failures
        + reads
            .iter()
            .map(|log| log.failures + log.refused)
            .sum::<usize>();
    if failures > 0 {
        let mut logs = reads.iter().chain([writer]);
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
    ("reader_wait_p99_ms", |of| millis(of.reader_p99)),
];

fn print(rounds: &[Vec<Figures>; WRITERS.len()], report: &mut Report) {
    let case = format!(
        "a writer among {PROCESSES} × {READERS} readers of {} ms",
        READ.as_millis()
    );
    let mut table = Table::new([
        &case,
        "p50 wait ms",
        "p99 wait ms",
        "worst ms",
        "p50, p99 behind the readers that were in, ms",
        "given up, of all",
        "writes/s",
        "reads/s",
        "p99 wait of readers ms",
    ]);
    for ((who, _), rounds) in WRITERS.iter().zip(rounds) {
        for (round, figures) in rounds.iter().enumerate() {
            report.count(figures.waits.len());
            for problem in &figures.problems {
                report.problem(format!("{who}, round {round}: {problem}"));
            }
        }
        for (name, figure) in FIGURES {
            let values: Vec<f64> = rounds.iter().map(figure).collect();
            report.figure(&case, who, name, &values);
        }
        let waits = all(rounds, |of| &of.waits);
        let behind = all(rounds, |of| &of.behind_readers);
        let given_up: usize = rounds.iter().map(|of| of.given_up).sum();
        let of_median = |figure: fn(&Figures) -> f64| Spread::of(rounds.iter().map(figure)).median;
        table.row(&[
            (*who).to_owned(),
            shown(&waits, 50),
            shown(&waits, 99),
            shown(&waits, 100),
            format!("{}, {}", shown(&behind, 50), shown(&behind, 99)),
            format!("{given_up} of {}", waits.len()),
            format!("{:.1}", of_median(|of| of.writes_per_second)),
            format!("{:.0}", of_median(|of| of.reads_per_second)),
            format!("{:.1}", of_median(|of| millis(of.reader_p99))),
        ]);
    }
    let [writer, _] = rounds;
    let found = millis(percentile(&all(writer, |of| &of.behind_readers), 99));
    let what = "kind = \"write\", p99 behind the readers that were in, ms";
    report.line(&mut table, &case, what, AtMost(millis(READERS_TURN)), found);
    let found = millis(percentile(&all(writer, |of| &of.waits), 99));
    let most = millis(READ + READERS_TURN);
    report.line(
        &mut table,
        &case,
        "kind = \"write\", p99 wait ms",
        AtMost(most),
        found,
    );
    report.table(table);
}

/// The times of all rounds.
fn all(rounds: &[Figures], times: fn(&Figures) -> &Vec<Duration>) -> Vec<Duration> {
    let mut all: Vec<_> = rounds
        .iter()
        .flat_map(|of| times(of).iter().copied())
        .collect();
    all.sort_unstable();
    all
}

fn shown(times: &[Duration], percent: usize) -> String {
    if times.is_empty() {
        return "–".to_owned();
    }
    format!("{:.1}", millis(percentile(times, percent)))
}
