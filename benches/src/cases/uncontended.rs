//! Pairs on distinct keys: no caller waits for another.

use redlock_tests::Nodes;

use super::{Flavor, case, runtime};
use crate::contender::{Fleet, Kind, RawLoop, rounds};
use crate::load::Load;
use crate::plan::Plan;
use crate::report::Report;

/// The place of the raw loop, which is no contender but the limit.
const RAW: usize = Kind::ALL.len();

/// Measures uncontended pairs, plain and fenced side by side.
pub fn fenced(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let runtime = runtime(Flavor::MultiThread);
    let fleet = runtime.block_on(Fleet::connect(&nodes.urls()));
    let kinds = [Kind::Ours, Kind::Fenced];
    for callers in [1, 16, 128] {
        let load = Load {
            callers,
            warm_up: plan.warm_up,
            run: plan.run,
        };
        let all = rounds(plan.rounds, kinds.len(), |place| {
            let kind = kinds[place];
            runtime.block_on(load.run(kind, fleet.get(kind), nodes))
        });
        for (kind, samples) in kinds.iter().zip(&all) {
            report.add_samples(&case(callers, "caller"), kind.name(), samples);
        }
    }
}

/// Measures uncontended pairs, all contenders side by side.
pub fn uncontended(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let cases: [(Flavor, &[usize]); 2] = [
        (Flavor::MultiThread, &[1, 16, 128]),
        (Flavor::CurrentThread, &[1]),
    ];
    for (flavor, counts) in cases {
        let runtime = runtime(flavor);
        let fleet = runtime.block_on(Fleet::connect(&nodes.urls()));
        for &callers in counts {
            let load = Load {
                callers,
                warm_up: plan.warm_up,
                run: plan.run,
            };
            let mut raw = RawLoop::connect(&nodes.urls(), &load.keys(RawLoop::NAME));
            let all = rounds(plan.rounds, RAW + 1, |place| {
                if let Some(&kind) = Kind::ALL.get(place) {
                    runtime.block_on(load.run(kind, fleet.get(kind), nodes))
                } else {
                    let mut sample = load.drive_raw(&mut raw);
                    runtime.block_on(sample.look_behind(nodes));
                    sample
                }
            });
            let case = format!("{}, {}", case(callers, "caller"), flavor.name());
            let names = Kind::ALL.map(Kind::name).into_iter().chain([RawLoop::NAME]);
            for (who, samples) in names.zip(&all) {
                report.add_samples(&case, who, samples);
            }
        }
    }
}
