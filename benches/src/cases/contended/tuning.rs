//! The best retry delay for `rslock`, so that it does not lose for lack of a setting.

use std::time::Duration;

use redlock_tests::Nodes;

use super::hand_over::{COMES_BACK, STAYS_AWAY, medians};
use super::hot::{ONE_PROCESS, TWO_PROCESSES, given_up};
use super::{Entrant, Scene, Team, measure};
use crate::contended::Figures;
use crate::contender::Kind;
use crate::plan::Plan;
use crate::report::{Report, each};
use crate::stats::{Spread, millis};
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
    let entrant = |delay| Entrant::new(Kind::Rslock, Duration::from_millis(delay));
    let entrants = DELAYS.map(entrant);
    let rounds = measure(plan, scene, run, &entrants, team, report);
    let mut table = Table::new([
        scene.case,
        "acquisitions/s",
        "to another task/s",
        "worst / best task",
        "worse / better process",
        "p50 wait ms",
        "p99 wait ms",
        "hand-over p50 ms",
        "commands each",
        "given up, unconfirmed",
    ]);
    for (entrant, rounds) in entrants.iter().zip(&rounds) {
        let spread = |figure: fn(&Figures) -> f64| Spread::of(each(rounds, figure));
        let handed = Spread::of_any(medians(rounds));
        table.row(&[
            entrant.name(),
            format!("{:.0}", spread(|of| of.per_second).median),
            format!("{:.0}", spread(|of| of.switches_per_second).median),
            spread(|of| of.worst_to_best_task).to_string(),
            spread(|of| of.worst_to_best_process).to_string(),
            format!("{:.2}", spread(|of| millis(of.wait_p50)).median),
            format!("{:.1}", spread(|of| millis(of.wait_p99)).median),
            handed.map_or("–".to_owned(), |handed| handed.to_string()),
            format!("{:.1}", spread(|of| of.commands_an_acquisition).median),
            given_up(rounds),
        ]);
    }
    report.table(table);
}
