//! One key for which many callers compete.

mod hand_over;
mod hot;
mod permits;
mod shares;
mod tuning;

use std::time::Duration;

use redlock_tests::Nodes;
use tokio::runtime::Runtime;

pub use hand_over::hand_over;
pub use hot::{hot_key, hot_key_processes};
pub use permits::permits;
pub use shares::shares;
pub use tuning::tuning;

use super::{Flavor, runtime};
use crate::contended::{Crew, Figures, Lock, Turn, Window, hammer};
use crate::contender::{Fleet, Kind, in_turn};
use crate::load::{PREFIX, keys_left};
use crate::plan::Plan;
use crate::report::{Named, Report};
use crate::stats::{millis, whole};

/// What everybody does in a case.
#[derive(Clone, Copy, Debug)]
struct Scene {
    case: &'static str,
    lock: Lock,
    /// The number of tasks of each process.
    crowds: &'static [usize],
    hold: Duration,
    pause: Duration,
}

/// A participant: a contender, with its retry delay if it polls.
#[derive(Clone, Copy, Debug)]
struct Entrant {
    kind: Kind,
    retry_delay: Duration,
}

/// What `rslock` does unless it is told otherwise.
const DEFAULT_RETRY_DELAY: Duration = Duration::from_millis(200);

impl Entrant {
    /// All, with a retry delay that serves those well which poll, and `rslock` with its default as well.
    const fn all(retry_delay: Duration) -> [Self; 5] {
        [
            Self::new(Kind::Ours, retry_delay),
            Self::new(Kind::Rslock, retry_delay),
            Self::new(Kind::Rslock, DEFAULT_RETRY_DELAY),
            Self::new(Kind::WaitForAll, retry_delay),
            Self::new(Kind::WaitForMajority, retry_delay),
        ]
    }

    const fn new(kind: Kind, retry_delay: Duration) -> Self {
        Self { kind, retry_delay }
    }

    /// As the tables name it.
    fn name(&self) -> String {
        match self.kind {
            Kind::Ours => self.kind.name().to_owned(),
            kind => format!("{}, {} ms", kind.name(), self.retry_delay.as_millis()),
        }
    }
}

/// The place of ours and of the tuned `rslock` in [`Entrant::all`].
const OURS: usize = 0;
const RSLOCK: usize = 1;

/// Every entrant's turns in a case, side by side; what went wrong and all figures are in the report then.
fn measure(
    plan: &Plan,
    scene: &Scene,
    run: Duration,
    entrants: &[Entrant],
    team: &mut Team<'_>,
    report: &mut Report,
) -> Vec<Vec<Figures>> {
    let mut rounds = vec![Vec::new(); entrants.len()];
    for round in 0..plan.rounds {
        for place in in_turn(entrants.len(), round) {
            let figures = team.take_turn(scene, &entrants[place], plan.warm_up, run);
            rounds[place].push(figures);
        }
    }
    for (entrant, rounds) in entrants.iter().zip(&rounds) {
        note(report, scene.case, &entrant.name(), rounds);
    }
    rounds
}

/// The processes and tasks that take turns.
struct Team<'a> {
    processes: Processes,
    runtime: Runtime,
    nodes: &'a Nodes,
    /// No turn sees what another one left.
    turns: usize,
}

enum Processes {
    This(Fleet),
    Others(Crew),
}

impl<'a> Team<'a> {
    /// The tasks of this very process.
    fn here(nodes: &'a Nodes, urls: &[String]) -> Self {
        let runtime = runtime(Flavor::MultiThread);
        let fleet = runtime.block_on(Fleet::connect(urls));
        Self::new(Processes::This(fleet), runtime, nodes)
    }

    /// Those of two other ones.
    fn apart(nodes: &'a Nodes, urls: &[String]) -> Self {
        Self::of(2, nodes, urls)
    }

    /// The tasks of `processes` other processes.
    fn of(processes: usize, nodes: &'a Nodes, urls: &[String]) -> Self {
        let crew = Crew::start(processes, urls);
        Self::new(
            Processes::Others(crew),
            runtime(Flavor::CurrentThread),
            nodes,
        )
    }

    fn new(processes: Processes, runtime: Runtime, nodes: &'a Nodes) -> Self {
        Self {
            processes,
            runtime,
            nodes,
            turns: 0,
        }
    }

    /// One turn of one entrant, and a look behind.
    fn take_turn(
        &mut self,
        scene: &Scene,
        entrant: &Entrant,
        warm_up: Duration,
        run: Duration,
    ) -> Figures {
        self.turns += 1;
        // Workers have to hear of it first.
        let notice = Duration::from_millis(2);
        let kind = entrant.kind;
        let turn = Turn {
            kind,
            key: format!("{PREFIX}hot:{}:{}", kind.name(), self.turns),
            lock: scene.lock,
            crowds: scene.crowds.to_vec(),
            hold: scene.hold,
            pause: scene.pause,
            retry_delay: entrant.retry_delay,
            window: Window::after(warm_up + notice, run),
        };
        let served = self.served();
        let logs = match &mut self.processes {
            Processes::This(fleet) => {
                vec![self.runtime.block_on(hammer(fleet.get(kind), &turn, 0))]
            }
            Processes::Others(crew) => crew.take(&turn),
        };
        let served = self.served().saturating_sub(served);
        let left = self.runtime.block_on(keys_left(self.nodes));
        let mut figures = Figures::of(&turn, &logs, served);
        if let Some(first) = left.first() {
            let problem = format!("{} keys left, first: {first}", left.len());
            figures.problems.push(problem);
        }
        // A permit may be given up: there is a line for that.
        if kind == Kind::Ours && scene.lock == Lock::Plain && figures.refused > 0 {
            let first = logs.iter().find_map(|log| log.first_error.as_deref());
            figures.problems.push(format!(
                "{} acquisitions given up, first: {}",
                figures.refused,
                first.unwrap_or_default()
            ));
        }
        figures
    }

    /// Commands that all nodes have served so far, those of scripts included.
    fn served(&self) -> usize {
        let served = |node: &redlock_tests::RedisNode| -> usize {
            let count = node.info("total_commands_processed");
            count.and_then(|count| count.parse().ok()).unwrap_or(0)
        };
        self.nodes.iter().map(served).sum()
    }
}

/// Notes in the report what went wrong in the rounds of a contender, and their figures.
fn note(report: &mut Report, case: &str, who: &str, rounds: &[Figures]) {
    for (round, figures) in rounds.iter().enumerate() {
        report.count(figures.acquisitions);
        for problem in &figures.problems {
            report.problem(format!("{case}, {who}, round {round}: {problem}"));
        }
    }
    for (name, figure) in FIGURES {
        let values: Vec<f64> = rounds.iter().map(figure).collect();
        report.figure(case, who, name, &values);
    }
}

const FIGURES: [Named<Figures>; 14] = [
    ("acquisitions_per_second", |of| of.per_second),
    ("switches_per_second", |of| of.switches_per_second),
    ("worst_to_best_task", |of| of.worst_to_best_task),
    ("worst_to_best_process", |of| of.worst_to_best_process),
    ("wait_p50_ms", |of| millis(of.wait_p50)),
    ("wait_p99_ms", |of| millis(of.wait_p99)),
    ("wait_worst_ms", |of| millis(of.wait_worst)),
    ("handed_over", |of| of.handed_over),
    ("commands_an_acquisition", |of| of.commands_an_acquisition),
    ("given_up", |of| whole(of.refused)),
    ("unconfirmed", |of| whole(of.unconfirmed)),
    ("least_part", |of| of.least_part),
    ("longest_idle_ms", |of| millis(of.longest_idle)),
    ("most_at_once", |of| whole(of.most_at_once)),
];
