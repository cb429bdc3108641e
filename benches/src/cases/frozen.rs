//! One hanging node, which accepts commands and never answers.

use std::time::Duration;

use redlock_tests::Nodes;
use tokio::runtime::Runtime;

use super::{Flavor, case, runtime};
use crate::contender::{Contender, Kind, Ours};
use crate::load::{Load, Sample};
use crate::plan::Plan;
use crate::report::Report;

const CALLERS: [usize; 3] = [1, 16, 64];

/// The state in which the hung node was met.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Condition {
    /// It does not hang.
    Healthy,
    /// It hung under load: measured from that moment on.
    Later,
    /// It hung before the client first connected.
    First,
}

impl Condition {
    const ALL: [Self; 3] = [Self::Healthy, Self::Later, Self::First];

    const fn name(self) -> &'static str {
        match self {
            Self::Healthy => "all healthy",
            Self::Later => "one freezes under load",
            Self::First => "one frozen at first",
        }
    }
}

/// This library's pairs over `nodes` while the last node hangs, against the same while all nodes are healthy.
pub fn frozen(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let runtime = runtime(Flavor::MultiThread);
    let ours = runtime.block_on(Ours::connect(&nodes.urls(), plan.connect_timeout));
    for callers in CALLERS {
        let mut samples = [const { Vec::new() }; Condition::ALL.len()];
        for round in 0..plan.rounds {
            let stage = Stage {
                plan,
                callers,
                runtime: &runtime,
                ours: &ours,
                nodes,
            };
            for (condition, sample) in stage.round(round) {
                samples[condition as usize].push(sample);
            }
        }
        for (condition, samples) in Condition::ALL.iter().zip(&samples) {
            report.add_samples(&case(callers, "caller"), condition.name(), samples);
        }
    }
}

/// The callers and nodes of a round.
struct Stage<'a> {
    plan: &'a Plan,
    callers: usize,
    runtime: &'a Runtime,
    ours: &'a Ours,
    nodes: &'a Nodes,
}

impl Stage<'_> {
    /// Takes one sample of each condition. Every other round begins with the frozen node and goes back to health.
    fn round(&self, round: usize) -> Vec<(Condition, Sample)> {
        let hanging = &self.nodes[self.nodes.len() - 1];
        let mut samples = Vec::new();
        let begins_frozen = !round.is_multiple_of(2);
        if begins_frozen {
            hanging.freeze();
            samples.push((Condition::First, self.with_newcomer()));
            hanging.thaw();
        }
        // Thawed, it first answers all that it was sent meanwhile.
        self.runtime.block_on(self.ours.voting(self.nodes.len()));
        samples.push((Condition::Healthy, self.run(self.ours, self.plan.warm_up)));
        hanging.freeze();
        // The moment of freezing is part of it.
        samples.push((Condition::Later, self.run(self.ours, Duration::ZERO)));
        if !begins_frozen {
            samples.push((Condition::First, self.with_newcomer()));
        }
        hanging.thaw();
        samples
    }

    fn with_newcomer(&self) -> Sample {
        let newcomer = self.runtime.block_on(async {
            let urls = self.nodes.urls();
            let newcomer = Ours::connect(&urls, self.plan.connect_timeout).await;
            newcomer.voting(self.nodes.len() - 1).await;
            newcomer
        });
        self.run(&newcomer, self.plan.warm_up)
    }

    fn run(&self, ours: &Ours, warm_up: Duration) -> Sample {
        let load = Load {
            callers: self.callers,
            warm_up,
            run: self.plan.run,
        };
        let contender = Contender::Ours(ours.clone());
        let run = load.run(Kind::Ours, &contender, self.nodes);
        self.runtime.block_on(run)
    }
}
