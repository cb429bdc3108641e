//! One hanging node, which accepts commands and never answers.

use std::time::Duration;

use redlock_tests::Nodes;
use tokio::runtime::Runtime;

use super::{Flavor, runtime};
use crate::contender::{Contender, Kind, Ours};
use crate::load::{Load, Sample};
use crate::plan::Plan;
use crate::plot::{Bar, Chart, Role, Scale, Set};
use crate::report::Bound::AtMost;
use crate::report::{Report, TROUBLE, each, median, trouble};
use crate::stats::{Spread, brief_micros, micros};
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

/// This library's pairs over `nodes` while the last node hangs, against the same while all nodes are healthy.
pub fn frozen(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let runtime = runtime(Flavor::MultiThread);
    let ours = runtime.block_on(Ours::connect(&nodes.urls(), plan.connect_timeout));
    let mut charts = ["p50", "p99"].map(|which| {
        Chart::new(
            &format!("One of five nodes hangs: {which} of lock and release"),
            "by that of the healthy run of the same round; median, smallest and largest round",
            Scale::Linear,
        )
    });
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
        for (chart, set) in charts.iter_mut().zip(draw(callers, &samples)) {
            chart.sets.push(set);
        }
        print(callers, &samples, report);
    }
    let [p50, p99] = charts;
    report.chart("frozen-p50", p50);
    report.chart("frozen-p99", p99);
}

/// What a round is played on.
struct Stage<'a> {
    plan: &'a Plan,
    callers: usize,
    runtime: &'a Runtime,
    ours: &'a Ours,
    nodes: &'a Nodes,
}

impl Stage<'_> {
    /// One sample of each condition. Every other round begins with the frozen node and goes back to health.
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

fn case(callers: usize) -> String {
    let plural = if callers == 1 { "" } else { "s" };
    format!("{callers} caller{plural}")
}

type Times = fn(&[Sample]) -> Vec<f64>;

fn p50(samples: &[Sample]) -> Vec<f64> {
    each(samples, |sample| micros(sample.p50))
}

fn p99(samples: &[Sample]) -> Vec<f64> {
    each(samples, |sample| micros(sample.p99))
}

fn print(callers: usize, samples: &[Vec<Sample>; Condition::ALL.len()], report: &mut Report) {
    let case = case(callers);
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
    for (condition, p50, p99) in ratios {
        let what = |which: &str| format!("{condition}, {which} × healthy");
        report.line(&mut table, &case, &what("p50"), AtMost(MOST_P50), p50);
        report.line(&mut table, &case, &what("p99"), AtMost(MOST_P99), p99);
    }
    report.table(table);
}

/// The bars of p50 and of p99.
fn draw(callers: usize, samples: &[Vec<Sample>; Condition::ALL.len()]) -> [Set; 2] {
    let [healthy, hung @ ..] = samples;
    [(p50 as Times, MOST_P50), (p99, MOST_P99)].map(|(figure, most)| {
        let conditions = Condition::ALL[1..].iter();
        let bars = conditions.zip(hung).map(|(condition, samples)| {
            let ratio = Spread::of_ratios(&figure(samples), &figure(healthy));
            let label = brief_micros(Spread::of(figure(samples)).median);
            Bar::new(condition.name(), Role::Ours, Some(ratio), label)
        });
        Set {
            name: case(callers),
            bars: bars.collect(),
            line: Some((most, format!("≤ {most}"))),
        }
    })
}
