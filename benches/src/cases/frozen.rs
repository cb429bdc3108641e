//! One of the nodes hangs: it accepts what it is sent and never answers.

use std::time::Duration;

use redlock_tests::Nodes;
use tokio::runtime::{Builder, Runtime};

use crate::contender::{Contender, Kind, Ours};
use crate::load::{Load, Sample};
use crate::plan::Plan;
use crate::report::{Report, TROUBLE, each, median, trouble};
use crate::stats::{Spread, micros};
use crate::table::Table;

const CALLERS: [usize; 3] = [1, 16, 64];

/// The median latency may rise by half, at most.
const MOST_P50: f64 = 1.5;
/// What the slowest of a hundred may rise to.
const MOST_P99: f64 = 3.0;

/// In which state the hung node was met.
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

/// Our own pairs over all of `nodes`, of which the last one hangs, against the same with all of
/// them healthy.
pub fn frozen(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    println!("\nOne of {} nodes hangs (SIGSTOP), redlock", nodes.len());
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .build()
        .expect("a tokio runtime");
    let ours = runtime.block_on(Ours::connect(&nodes.urls(), plan.connect_timeout));
    for callers in CALLERS {
        let mut samples = [const { Vec::new() }; Condition::ALL.len()];
        for _ in 0..plan.rounds {
            let round = round(plan, callers, &runtime, &ours, nodes);
            for (all, sample) in samples.iter_mut().zip(round) {
                all.push(sample);
            }
        }
        print(callers, &samples, report);
    }
}

/// One sample of each condition, in the order of [`Condition::ALL`].
fn round(
    plan: &Plan,
    callers: usize,
    runtime: &Runtime,
    ours: &Ours,
    nodes: &Nodes,
) -> [Sample; Condition::ALL.len()] {
    let hanging = &nodes[nodes.len() - 1];
    let load = Load {
        callers,
        warm_up: plan.warm_up,
        run: plan.run,
    };
    let run = |load: &Load, ours: &Ours| {
        let contender = Contender::Ours(ours.clone());
        runtime.block_on(load.run(Kind::Ours, &contender, nodes))
    };
    runtime.block_on(ours.voting(nodes.len()));
    let healthy = run(&load, ours);

    let no_warm_up = Load {
        warm_up: Duration::ZERO,
        ..load
    };
    hanging.freeze();
    let later = run(&no_warm_up, ours);

    let newcomer = runtime.block_on(async {
        let newcomer = Ours::connect(&nodes.urls(), plan.connect_timeout).await;
        newcomer.voting(nodes.len() - 1).await;
        newcomer
    });
    let first = run(&load, &newcomer);
    hanging.thaw();
    [healthy, later, first]
}

fn print(callers: usize, samples: &[Vec<Sample>; Condition::ALL.len()], report: &mut Report) {
    let plural = if callers == 1 { "" } else { "s" };
    let case = format!("{callers} caller{plural}, 5 nodes");
    let mut table = Table::new([
        &case,
        "pairs/s",
        "p50 µs",
        "p99 µs",
        "worst µs",
        "p50 × healthy",
        "p99 × healthy",
        TROUBLE,
    ]);
    let mut ratios = Vec::new();
    let p50 = |samples: &[Sample]| each(samples, |sample| micros(sample.p50));
    let p99 = |samples: &[Sample]| each(samples, |sample| micros(sample.p99));
    let [healthy, ..] = samples;
    for (condition, samples) in Condition::ALL.iter().zip(samples) {
        report.add(&case, condition.name(), samples);
        let p50_ratio = Spread::of_ratios(&p50(samples), &p50(healthy));
        let p99_ratio = Spread::of_ratios(&p99(samples), &p99(healthy));
        table.row(&[
            condition.name().to_owned(),
            median(samples, |sample| sample.pairs_per_second),
            median(samples, |sample| micros(sample.p50)),
            median(samples, |sample| micros(sample.p99)),
            median(samples, |sample| micros(sample.worst)),
            p50_ratio.to_string(),
            p99_ratio.to_string(),
            trouble(samples),
        ]);
        if *condition != Condition::Healthy {
            ratios.push((condition.name(), p50_ratio.median, p99_ratio.median));
        }
    }
    println!("\n{table}");
    for (condition, p50, p99) in ratios {
        let case = format!("{case}, {condition}");
        report.judge(&case, "p50 up by at most half", p50 <= MOST_P50);
        report.judge(&case, "p99 at most threefold", p99 <= MOST_P99);
    }
}
