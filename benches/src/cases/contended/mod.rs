//! One key that many want.

mod hand_over;
mod hot;
mod tuning;

use std::time::Duration;

use redlock_tests::Nodes;
use tokio::runtime::Runtime;

pub use hand_over::hand_over;
pub use hot::{hot_key, hot_key_processes};
pub use tuning::tuning;

use super::{Flavor, runtime};
use crate::contended::{Crew, Figures, Turn, Window, hammer};
use crate::contender::{Fleet, Kind};
use crate::load::{PREFIX, keys_left};
use crate::plan::Plan;
use crate::report::{Named, Report};
use crate::stats::{millis, whole};

/// What everybody does in a case.
#[derive(Clone, Copy, Debug)]
struct Scene {
    case: &'static str,
    /// Of each process.
    tasks: usize,
    hold: Duration,
    pause: Duration,
    /// Of those that poll: what `tuning` found to serve `rslock` best here.
    retry_delay: Duration,
}

/// Who does it.
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
        let crew = Crew::start(2, urls);
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

    /// One turn of one contender, and a look behind.
    fn take_turn(&mut self, scene: &Scene, kind: Kind, plan: &Plan, run: Duration) -> Figures {
        self.turns += 1;
        // Workers have to hear of it first.
        let notice = Duration::from_millis(2);
        let turn = Turn {
            kind,
            key: format!("{PREFIX}hot:{}:{}", kind.name(), self.turns),
            tasks: scene.tasks,
            hold: scene.hold,
            pause: scene.pause,
            retry_delay: scene.retry_delay,
            window: Window::after(plan.warm_up + notice, run),
        };
        let logs = match &mut self.processes {
            Processes::This(fleet) => {
                vec![self.runtime.block_on(hammer(fleet.get(kind), &turn))]
            }
            Processes::Others(crew) => crew.take(&turn),
        };
        let mut figures = Figures::of(&turn, &logs);
        let left = self.runtime.block_on(keys_left(self.nodes));
        if let Some(first) = left.first() {
            let problem = format!("{} keys left, first: {first}", left.len());
            figures.problems.push(problem);
        }
        if kind == Kind::Ours && figures.refused > 0 {
            let first = logs.iter().find_map(|log| log.first_error.as_deref());
            figures.problems.push(format!(
                "{} acquisitions given up, first: {}",
                figures.refused,
                first.unwrap_or_default()
            ));
        }
        figures
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

const FIGURES: [Named<Figures>; 9] = [
    ("acquisitions_per_second", |of| of.per_second),
    ("switches_per_second", |of| of.switches_per_second),
    ("worst_to_best_task", |of| of.worst_to_best_task),
    ("worst_to_best_process", |of| of.worst_to_best_process),
    ("wait_p50_ms", |of| millis(of.wait_p50)),
    ("wait_p99_ms", |of| millis(of.wait_p99)),
    ("wait_worst_ms", |of| millis(of.wait_worst)),
    ("given_up", |of| whole(of.refused)),
    ("unconfirmed", |of| whole(of.unconfirmed)),
];
