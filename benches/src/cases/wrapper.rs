//! An annotated call, compared with an explicit lock, on in-process nodes.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use super::{Flavor, runtime};
use crate::clock::cpu_time;
use crate::plan::Plan;
use crate::report::Bound::AtMost;
use crate::report::Report;
use crate::stats::{Spread, percentile};
use crate::table::Table;
use crate::ways::{Body, Grounds, Way};

const NODES: [usize; 2] = [3, 1];

/// Calls in one turn: about a millisecond, so that a turn which was interrupted is an outlier among many.
const TURN: u32 = 256;
const CALLS: usize = TURN as usize;

/// What an annotated call may cost, times the object style.
const MOST_TIME: f64 = 1.05;
/// The nanoseconds that it may cost in addition, where these are more.
const MOST_NANOS: f64 = 100.0;

/// The time that one call took in a round: the median over the turns.
#[derive(Clone, Copy)]
struct Round {
    wall: f64,
    cpu: f64,
}

/// Time a call in each of the [`Way`]s, in turns of a millisecond.
pub fn wrapper(plan: &Plan, report: &mut Report) {
    for flavor in [Flavor::CurrentThread, Flavor::MultiThread] {
        let runtime = runtime(flavor);
        for nodes in NODES {
            let grounds = runtime.block_on(Grounds::prepare(nodes));
            for body in Body::ALL {
                let case = case(body, nodes, flavor);
                let mut rounds = [const { Vec::new() }; Way::ALL.len()];
                turns(plan.warm_up, &runtime, &grounds, body, report);
                for _ in 0..plan.rounds {
                    let round = turns(plan.run, &runtime, &grounds, body, report);
                    for (all, round) in rounds.iter_mut().zip(round) {
                        all.push(round);
                    }
                }
                print(&case, &rounds, report);
                report.left_behind(&case, &grounds.left_behind());
            }
        }
    }
}

fn case(body: Body, nodes: usize, flavor: Flavor) -> String {
    let plural = if nodes == 1 { "" } else { "s" };
    format!("{}, {nodes} node{plural}, {}", body.name(), flavor.name())
}

/// All ways in turn, there and back again, for so long altogether.
fn turns(
    run: Duration,
    runtime: &Runtime,
    grounds: &Grounds,
    body: Body,
    report: &mut Report,
) -> [Round; Way::ALL.len()] {
    let end = Instant::now() + run;
    let mut walls = [const { Vec::new() }; Way::ALL.len()];
    let mut cpus = [const { Vec::new() }; Way::ALL.len()];
    let there = (0..Way::ALL.len()).collect::<Vec<_>>();
    let and_back = there.iter().rev();
    while walls[0].is_empty() || Instant::now() < end {
        for &place in there.iter().chain(and_back.clone()) {
            let calls = grounds.calls(Way::ALL[place], body, TURN.into());
            let (wall, cpu) = runtime.block_on(async {
                let (began, cpu) = (Instant::now(), cpu_time());
                tokio::spawn(calls).await.expect("calls that do not panic");
                (began.elapsed(), cpu_time().saturating_sub(cpu))
            });
            walls[place].push(wall);
            cpus[place].push(cpu);
            report.count(CALLS);
        }
    }
    std::array::from_fn(|place| Round {
        wall: a_call(&mut walls[place]),
        cpu: a_call(&mut cpus[place]),
    })
}

/// The median turn's nanoseconds for one call.
fn a_call(turns: &mut [Duration]) -> f64 {
    turns.sort_unstable();
    let turn = percentile(turns, 50);
    turn.as_secs_f64() * 1e9 / f64::from(TURN)
}

fn print(case: &str, rounds: &[Vec<Round>; Way::ALL.len()], report: &mut Report) {
    let each = |rounds: &[Round], figure: fn(&Round) -> f64| {
        rounds.iter().map(figure).collect::<Vec<f64>>()
    };
    let walls = rounds
        .each_ref()
        .map(|rounds| each(rounds, |round| round.wall));
    let cpus = rounds
        .each_ref()
        .map(|rounds| each(rounds, |round| round.cpu));
    let mut table = Table::new([case, "ns a call", "cpu ns", "× by hand", "cpu × by hand"]);
    let [_, by_hand_wall, ..] = &walls;
    let [_, by_hand_cpu, ..] = &cpus;
    for ((way, wall), cpu) in Way::ALL.iter().zip(&walls).zip(&cpus) {
        table.row(&[
            way.name().to_owned(),
            format!("{:.0}", Spread::of(wall.iter().copied()).median),
            format!("{:.0}", Spread::of(cpu.iter().copied()).median),
            Spread::of_ratios(wall, by_hand_wall).to_string(),
            Spread::of_ratios(cpu, by_hand_cpu).to_string(),
        ]);
        report.figure(case, way.name(), "ns_a_call", wall);
        report.figure(case, way.name(), "cpu_ns_a_call", cpu);
    }
    let [attribute, by_hand, run, _] = &walls;
    // A lock by hand does not watch a body that waits; `run` does, like the attribute.
    for (way, other) in [(Way::ByHand, by_hand), (Way::Run, run)] {
        let ratio = Spread::of_ratios(attribute, other).median;
        let what = format!("#[redlock] × {}", way.name());
        report.line(&mut table, case, &what, AtMost(MOST_TIME), ratio);
        if ratio > MOST_TIME {
            let more = attribute.iter().zip(other).map(|(one, other)| one - other);
            let more = Spread::of(more).median;
            let what = format!("or: #[redlock], ns above {}", way.name());
            report.line(&mut table, case, &what, AtMost(MOST_NANOS), more);
        }
    }
    report.table(table);
}
