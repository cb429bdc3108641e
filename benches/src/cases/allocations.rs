//! Allocations a pair, on all threads of this process.

use std::time::Duration;

use redlock_tests::Nodes;

use super::{Flavor, runtime};
use crate::contender::{Fleet, Kind, in_turn};
use crate::group::Group;
use crate::load::Load;
use crate::plan::Plan;
use crate::plot::{Bar, Chart, Role, Scale, Set};
use crate::report::Bound::AtMost;
use crate::report::{Report, TROUBLE, trouble};
use crate::stats::{Spread, brief, whole};
use crate::table::Table;

const CALLERS: [usize; 3] = [1, 16, 128];

/// What a pair of ours may allocate.
const MOST: f64 = 12.0;

/// One round of one contender.
struct Count {
    allocations: f64,
    bytes: f64,
}

/// Counts allocations and reallocations, and bytes, with the `counted` allocator: a function that
/// gives both totals since the start of the process.
pub fn allocations(
    plan: &Plan,
    nodes: &Nodes,
    urls: &[String],
    counted: fn() -> (usize, usize),
    report: &mut Report,
) {
    let runtime = runtime(Flavor::MultiThread);
    let fleet = runtime.block_on(Fleet::connect(urls));
    let mut chart = Chart::new(
        "Allocations of lock and release",
        "a pair, on all threads; median, smallest and largest round",
        Scale::Linear,
    );
    for callers in CALLERS {
        let warm_up = Load {
            callers,
            warm_up: plan.warm_up,
            run: plan.run / 4,
        };
        let load = Load {
            warm_up: Duration::ZERO,
            run: plan.run,
            ..warm_up
        };
        let mut counts = [const { Vec::new() }; Kind::ALL.len()];
        let mut samples = [const { Vec::new() }; Kind::ALL.len()];
        for round in 0..plan.rounds_of(Group::Allocations) {
            for place in in_turn(Kind::ALL.len(), round) {
                let kind = Kind::ALL[place];
                let contender = fleet.get(kind);
                runtime.block_on(warm_up.run(kind, contender, nodes));
                let before = counted();
                let mut sample = runtime.block_on(load.drive(kind, contender));
                let after = counted();
                runtime.block_on(sample.look_behind(nodes));
                let pairs = whole(sample.pairs.max(1));
                counts[place].push(Count {
                    allocations: whole(after.0 - before.0) / pairs,
                    bytes: whole(after.1 - before.1) / pairs,
                });
                samples[place].push(sample);
            }
        }
        let plural = if callers == 1 { "" } else { "s" };
        let case = format!("{callers} caller{plural}");
        let mut table = Table::new([&case, "allocations", "bytes", TROUBLE]);
        let mut set = Set {
            name: case.clone(),
            bars: Vec::new(),
            line: Some((MOST, format!("≤ {MOST}"))),
        };
        let mut ours = 0.0;
        for ((kind, counts), samples) in Kind::ALL.iter().zip(&counts).zip(&samples) {
            let allocations: Vec<f64> = counts.iter().map(|count| count.allocations).collect();
            let bytes: Vec<f64> = counts.iter().map(|count| count.bytes).collect();
            report.add(&case, kind.name(), samples);
            report.figure(&case, kind.name(), "allocations_a_pair", &allocations);
            report.figure(&case, kind.name(), "bytes_a_pair", &bytes);
            let spread = Spread::of(allocations);
            table.row(&[
                kind.name().to_owned(),
                format!("{:.1}", spread.median),
                format!("{:.0}", Spread::of(bytes).median),
                trouble(samples),
            ]);
            if *kind == Kind::Ours {
                ours = spread.median;
            }
            let label = brief(spread.median);
            let bar = Bar::new(kind.name(), Role::of(*kind), Some(spread), label);
            set.bars.push(bar);
        }
        report.line(&mut table, &case, "allocations", AtMost(MOST), ours);
        report.table(table);
        chart.sets.push(set);
    }
    report.chart("allocations", chart);
}
