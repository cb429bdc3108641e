//! Pairs on distinct keys: no caller waits for another.

use redlock_tests::Nodes;
use tokio::runtime::Runtime;

use super::{Flavor, runtime};
use crate::contender::{Fleet, Kind, RawLoop, in_turn};
use crate::load::{Load, Sample};
use crate::plan::Plan;
use crate::plot::{Bar, Chart, Role, Scale, Set};
use crate::report::Bound::AtLeast;
use crate::report::{Report, TROUBLE, each, median, trouble};
use crate::stats::{Spread, brief, micros};
use crate::table::Table;

/// How many callers, on which runtime, and how many times the pairs a second of others are aimed at: those of
/// `rslock`, and those of a loop by hand or of the raw loop.
const CASES: [Case; 4] = [
    Case::new(1, Flavor::MultiThread, 1.3).and_of(MAJORITY, 1.05),
    Case::new(16, Flavor::MultiThread, 1.8),
    Case::new(128, Flavor::MultiThread, 2.8).and_of(RAW, 0.8),
    Case::new(1, Flavor::CurrentThread, 1.3).and_of(MAJORITY, 1.05),
];

const MAJORITY: usize = Kind::WaitForMajority.place();

/// Behind the places of [`Kind::ALL`]: that of the raw loop, which is no contender but the limit.
const RAW: usize = Kind::ALL.len();

type Rounds = [Vec<Sample>; RAW + 1];

struct Case {
    callers: usize,
    flavor: Flavor,
    of_rslock: f64,
    /// The place of another contender, and how many times its pairs.
    of_other: Option<(usize, f64)>,
}

impl Case {
    const fn new(callers: usize, flavor: Flavor, of_rslock: f64) -> Self {
        Self {
            callers,
            flavor,
            of_rslock,
            of_other: None,
        }
    }

    const fn and_of(mut self, other: usize, least: f64) -> Self {
        self.of_other = Some((other, least));
        self
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
    let mut chart = Chart::new(
        "Lock and release on distinct keys",
        "pairs a second, by rslock's in the same round; median, smallest and largest round",
        Scale::Linear,
    );
    for flavor in [Flavor::MultiThread, Flavor::CurrentThread] {
        let runtime = runtime(flavor);
        let fleet = runtime.block_on(Fleet::connect(urls));
        for case in CASES.iter().filter(|case| case.flavor == flavor) {
            let rounds = measure(plan, case, &runtime, &fleet, nodes);
            chart.sets.push(draw(case, &rounds));
            print(case, &rounds, report);
        }
    }
    report.chart("uncontended", chart);
}

/// The samples of each contender and, last, of the raw loop, one a round.
fn measure(plan: &Plan, case: &Case, runtime: &Runtime, fleet: &Fleet, nodes: &Nodes) -> Rounds {
    let load = Load {
        callers: case.callers,
        warm_up: plan.warm_up,
        run: plan.run,
    };
    let mut raw = RawLoop::connect(&nodes.urls()[..3], &load.keys(RawLoop::NAME));
    let mut rounds = [const { Vec::new() }; RAW + 1];
    for round in 0..plan.rounds {
        for place in in_turn(RAW + 1, round) {
            let sample = if place == RAW {
                let mut sample = load.drive_raw(&mut raw);
                runtime.block_on(sample.look_behind(nodes));
                sample
            } else {
                let kind = Kind::ALL[place];
                runtime.block_on(load.run(kind, fleet.get(kind), nodes))
            };
            rounds[place].push(sample);
        }
    }
    rounds
}

/// The name of each place.
fn names() -> impl Iterator<Item = &'static str> {
    Kind::ALL
        .iter()
        .map(|kind| kind.name())
        .chain([RawLoop::NAME])
}

fn rate(samples: &[Sample]) -> Vec<f64> {
    each(samples, |sample| sample.pairs_per_second)
}

fn print(case: &Case, rounds: &Rounds, report: &mut Report) {
    let [ours, rslock, ..] = rounds;
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
    for (who, samples) in names().zip(rounds) {
        report.add(&case.name(), who, samples);
        table.row(&[
            who.to_owned(),
            median(samples, |sample| sample.pairs_per_second),
            median(samples, |sample| micros(sample.p50)),
            median(samples, |sample| micros(sample.p99)),
            format!(
                "{:.1}",
                Spread::of(each(samples, |of| micros(of.cpu_a_pair))).median
            ),
            Spread::of_ratios(&rate(samples), &rate(rslock)).to_string(),
            Spread::of_ratios(&rate(ours), &rate(samples)).to_string(),
            trouble(samples),
        ]);
    }
    let gain = Spread::of_ratios(&rate(ours), &rate(rslock)).median;
    let bound = AtLeast(case.of_rslock);
    report.line(&mut table, &case.name(), "pairs/s × rslock", bound, gain);
    if let Some((other, least)) = case.of_other {
        let reached = Spread::of_ratios(&rate(ours), &rate(&rounds[other])).median;
        let name = names().nth(other).unwrap_or_default();
        let what = format!("pairs/s × {name}");
        report.line(&mut table, &case.name(), &what, AtLeast(least), reached);
    }
    report.table(table);
}

fn draw(case: &Case, rounds: &Rounds) -> Set {
    let rslock = rate(&rounds[Kind::Rslock.place()]);
    let bar = |(place, who): (usize, &str)| {
        let rate = rate(&rounds[place]);
        let role = Kind::ALL
            .get(place)
            .map_or(Role::Limit, |&kind| Role::of(kind));
        let ratio = Spread::of_ratios(&rate, &rslock);
        let label = format!("{}/s", brief(Spread::of(rate).median));
        Bar::new(who, role, Some(ratio), label)
    };
    Set {
        name: case.name(),
        bars: names().enumerate().map(bar).collect(),
        line: Some((case.of_rslock, format!("≥ {}", case.of_rslock))),
    }
}
