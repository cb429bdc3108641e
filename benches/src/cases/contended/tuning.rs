//! Which retry delay serves `rslock` best: no peer should lose for want of a setting.

use std::time::Duration;

use redlock_tests::Nodes;

use super::hand_over::{COMES_BACK, STAYS_AWAY};
use super::hot::{ONE_PROCESS, TWO_PROCESSES, given_up};
use super::{Scene, Team, note};
use crate::contended::Figures;
use crate::contender::{Kind, in_turn};
use crate::plan::Plan;
use crate::report::{Report, each};
use crate::stats::{Spread, millis, percentile};
use crate::table::Table;

/// In ms; its own default is the last one.
const DELAYS: [u64; 8] = [1, 2, 5, 10, 20, 50, 100, 200];

/// All contended cases with each of the delays, `rslock` alone.
pub fn tuning(plan: &Plan, nodes: &Nodes, urls: &[String], report: &mut Report) {
    tune(
        plan,
        &ONE_PROCESS,
        plan.hot,
        &mut Team::here(nodes, urls),
        report,
    );
    let mut team = Team::apart(nodes, urls);
    tune(plan, &TWO_PROCESSES, plan.hot, &mut team, report);
    tune(plan, &STAYS_AWAY, plan.held, &mut team, report);
    tune(plan, &COMES_BACK, plan.held, &mut team, report);
}

fn tune(plan: &Plan, scene: &Scene, run: Duration, team: &mut Team<'_>, report: &mut Report) {
    let mut rounds = [const { Vec::<Figures>::new() }; DELAYS.len()];
    for round in 0..plan.rounds {
        for place in in_turn(DELAYS.len(), round) {
            let scene = Scene {
                retry_delay: Duration::from_millis(DELAYS[place]),
                ..*scene
            };
            rounds[place].push(team.take_turn(&scene, Kind::Rslock, plan, run));
        }
    }
    let mut table = Table::new([
        scene.case,
        "acquisitions/s",
        "to another task/s",
        "worst / best task",
        "worse / better process",
        "p50 wait ms",
        "p99 wait ms",
        "hand-over p50 ms",
        "given up, unconfirmed",
    ]);
    for (delay, rounds) in DELAYS.iter().zip(&rounds) {
        let who = format!("rslock, {delay} ms");
        note(report, scene.case, &who, rounds);
        let spread = |figure: fn(&Figures) -> f64| Spread::of(each(rounds, figure));
        let handed = rounds.iter().filter(|of| !of.hand_overs.is_empty());
        let handed = Spread::of_any(handed.map(|of| millis(percentile(&of.hand_overs, 50))));
        table.row(&[
            who,
            format!("{:.0}", spread(|of| of.per_second).median),
            format!("{:.0}", spread(|of| of.switches_per_second).median),
            spread(|of| of.worst_to_best_task).to_string(),
            spread(|of| of.worst_to_best_process).to_string(),
            format!("{:.2}", spread(|of| millis(of.wait_p50)).median),
            format!("{:.1}", spread(|of| millis(of.wait_p99)).median),
            handed.map_or("–".to_owned(), |handed| handed.to_string()),
            given_up(rounds),
        ]);
    }
    report.table(table);
}
