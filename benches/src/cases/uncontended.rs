//! Pairs on distinct keys: nobody ever waits for anybody.

use redlock_tests::Nodes;
use tokio::runtime::Runtime;

use super::{Flavor, runtime};
use crate::contender::{Fleet, Kind};
use crate::load::{Load, Sample};
use crate::plan::Plan;
use crate::report::{Report, TROUBLE, each, median, trouble};
use crate::stats::{Spread, micros};
use crate::table::Table;

/// How many callers, on which runtime, and how many times `rslock`'s pairs a second are aimed at.
const CASES: [Case; 4] = [
    Case::new(1, Flavor::MultiThread, Some(1.4)),
    Case::new(16, Flavor::MultiThread, Some(1.8)),
    Case::new(128, Flavor::MultiThread, Some(3.0)),
    Case::new(1, Flavor::CurrentThread, None),
];

struct Case {
    callers: usize,
    flavor: Flavor,
    target: Option<f64>,
}

impl Case {
    const fn new(callers: usize, flavor: Flavor, target: Option<f64>) -> Self {
        Self {
            callers,
            flavor,
            target,
        }
    }

    fn name(&self) -> String {
        let callers = self.callers;
        let flavor = self.flavor.name();
        let plural = if callers == 1 { "" } else { "s" };
        format!("{callers} caller{plural}, {flavor}")
    }
}

/// Uncontended pairs over the nodes at `urls`, all contenders side by side.
pub fn uncontended(plan: &Plan, nodes: &Nodes, urls: &[String], report: &mut Report) {
    println!("\nUncontended pairs on distinct keys, {} nodes", urls.len());
    for flavor in [Flavor::MultiThread, Flavor::CurrentThread] {
        let runtime = runtime(flavor);
        let fleet = runtime.block_on(Fleet::connect(&Kind::ALL, urls));
        for case in CASES.iter().filter(|case| case.flavor == flavor) {
            let samples = measure(plan, case, &runtime, &fleet, nodes);
            print(case, &samples, report);
        }
    }
}

/// Each contender's samples, one a round, in the order of [`Kind::ALL`].
fn measure(
    plan: &Plan,
    case: &Case,
    runtime: &Runtime,
    fleet: &Fleet,
    nodes: &Nodes,
) -> [Vec<Sample>; Kind::ALL.len()] {
    let load = Load {
        callers: case.callers,
        warm_up: plan.warm_up,
        run: plan.run,
    };
    let mut samples = [const { Vec::new() }; Kind::ALL.len()];
    for round in 0..plan.rounds {
        for (place, kind, contender) in fleet.in_turn(round) {
            let sample = runtime.block_on(load.run(kind, contender, nodes));
            samples[place].push(sample);
        }
    }
    samples
}

fn print(case: &Case, samples: &[Vec<Sample>; Kind::ALL.len()], report: &mut Report) {
    let rate = |samples: &[Sample]| each(samples, |sample| sample.pairs_per_second);
    let [ours, rslock, ..] = samples;
    let mut table = Table::new([
        &case.name(),
        "pairs/s",
        "p50 µs",
        "p99 µs",
        "client cpu µs",
        "× rslock",
        "redlock ×",
        TROUBLE,
    ]);
    for (kind, samples) in Kind::ALL.iter().zip(samples) {
        report.add(&case.name(), kind.name(), samples);
        table.row(&[
            kind.name().to_owned(),
            median(samples, |sample| sample.pairs_per_second),
            median(samples, |sample| micros(sample.p50)),
            median(samples, |sample| micros(sample.p99)),
            median(samples, |sample| micros(sample.cpu_a_pair)),
            Spread::of_ratios(&rate(samples), &rate(rslock)).to_string(),
            Spread::of_ratios(&rate(ours), &rate(samples)).to_string(),
            trouble(samples),
        ]);
    }
    println!("\n{table}");
    let gain = Spread::of_ratios(&rate(ours), &rate(rslock)).median;
    report.judge(&case.name(), "not slower than rslock", gain >= 1.0);
    if let Some(target) = case.target {
        let wanted = format!("{target:.1} times rslock");
        report.judge(&case.name(), &wanted, gain >= target);
    }
}
