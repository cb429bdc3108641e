//! An annotated call, compared with an explicit lock, on in-process nodes.

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use super::{Flavor, case, runtime};
use crate::clock::cpu_time;
use crate::plan::Plan;
use crate::report::{Named, Report};
use crate::stats::percentile;
use crate::ways::{Body, Grounds, Way};

const NODES: [usize; 2] = [3, 1];

/// Calls in one turn: about a millisecond, so that a turn which was interrupted is an outlier among many.
const TURN: u32 = 256;
const CALLS: usize = TURN as usize;

/// The time that one call took in a round: the median over the turns.
#[derive(Clone, Copy)]
struct Round {
    wall: f64,
    cpu: f64,
}

const FIGURES: [Named<Round>; 2] = [("ns_a_call", |of| of.wall), ("cpu_ns_a_call", |of| of.cpu)];

/// Measures the time of a call in each way, in turns of a millisecond.
pub fn wrapper(plan: &Plan, report: &mut Report) {
    for flavor in [Flavor::CurrentThread, Flavor::MultiThread] {
        let runtime = runtime(flavor);
        for nodes in NODES {
            let grounds = runtime.block_on(Grounds::prepare(nodes));
            for body in Body::ALL {
                let nodes = case(nodes, "node");
                let case = format!("{}, {nodes}, {}", body.name(), flavor.name());
                let mut rounds = [const { Vec::new() }; Way::ALL.len()];
                turns(plan.warm_up, &runtime, &grounds, body, report);
                for _ in 0..plan.rounds {
                    let round = turns(plan.run, &runtime, &grounds, body, report);
                    for (all, round) in rounds.iter_mut().zip(round) {
                        all.push(round);
                    }
                }
                for (way, rounds) in Way::ALL.iter().zip(&rounds) {
                    report.add(&case, way.name(), &FIGURES, rounds);
                }
                report.left_behind(&case, &grounds.left_behind());
            }
        }
    }
}

/// Gives all ways their turns, there and back again, for so long altogether.
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

/// Returns the median turn's nanoseconds for one call.
fn a_call(turns: &mut [Duration]) -> f64 {
    turns.sort_unstable();
    let turn = percentile(turns, 50);
    turn.as_secs_f64() * 1e9 / f64::from(TURN)
}
