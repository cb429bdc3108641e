//! Tasks that acquire and release one key as fast as they can.

use std::time::Duration;

use redlock_tests::Nodes;

use super::{Entrant, OURS, RSLOCK, Scene, Team, measure};
use crate::contended::{Figures, Lock};
use crate::plan::Plan;
use crate::plot::{Bar, Chart, Role, Scale, Set};
use crate::report::Bound::{AtLeast, AtMost};
use crate::report::{Report, each};
use crate::stats::{Spread, brief, millis};
use crate::table::Table;

pub(super) const ONE_PROCESS: Scene = Scene {
    case: "1 process × 64 tasks",
    lock: Lock::Plain,
    crowds: &[64],
    hold: Duration::ZERO,
    pause: Duration::ZERO,
};

pub(super) const TWO_PROCESSES: Scene = Scene {
    case: "2 processes × 32 tasks",
    crowds: &[32; 2],
    ..ONE_PROCESS
};

/// With this retry delay `rslock` hands the key on about as often as with any, and has nearly its shortest waits.
/// With a longer one it makes more acquisitions, as one task keeps the key while the others sleep.
const ENTRANTS: [Entrant; 5] = Entrant::all(Duration::from_millis(20));

/// One key, 64 tasks of this process, all contenders side by side.
pub fn hot_key(plan: &Plan, nodes: &Nodes, urls: &[String], report: &mut Report) {
    let mut team = Team::here(nodes, urls);
    let rounds = measure(plan, &ONE_PROCESS, plan.hot, &ENTRANTS, &mut team, report);
    let share_name = "worst / best task";
    let share = |of: &Figures| of.worst_to_best_task;
    let (mut table, charts) = tabulate(&ONE_PROCESS, &rounds, share_name, share);
    let [gain, wait] = against_rslock(&rounds);
    let share = Spread::of(each(&rounds[OURS], share)).median;
    let case = ONE_PROCESS.case;
    report.line(&mut table, case, GAIN, AtLeast(10.0), gain);
    report.line(&mut table, case, share_name, AtLeast(0.8), share);
    report.line(&mut table, case, "p99 wait × rslock", AtMost(0.1), wait);
    finish(report, "hot-key", table, charts);
}

/// One key, two processes of 32 tasks each, all contenders side by side.
pub fn hot_key_processes(plan: &Plan, nodes: &Nodes, urls: &[String], report: &mut Report) {
    let mut team = Team::apart(nodes, urls);
    let rounds = measure(plan, &TWO_PROCESSES, plan.hot, &ENTRANTS, &mut team, report);
    let share_name = "worse / better process";
    let share = |of: &Figures| of.worst_to_best_process;
    let (mut table, charts) = tabulate(&TWO_PROCESSES, &rounds, share_name, share);
    let [gain, _] = against_rslock(&rounds);
    let share = Spread::of(each(&rounds[OURS], share)).median;
    let case = TWO_PROCESSES.case;
    report.line(&mut table, case, GAIN, AtLeast(8.0), gain);
    report.line(&mut table, case, share_name, AtLeast(0.7), share);
    finish(report, "hot-key-processes", table, charts);
}

const GAIN: &str = "acquisitions/s × rslock";

/// Our acquisitions and our p99 wait, by those of the tuned `rslock`.
fn against_rslock(rounds: &[Vec<Figures>]) -> [f64; 2] {
    let figures: [fn(&Figures) -> f64; 2] = [|of| of.per_second, |of| millis(of.wait_p99)];
    figures.map(|figure| {
        let [ours, rslock] = [OURS, RSLOCK].map(|place| each(&rounds[place], figure));
        Spread::of_ratios(&ours, &rslock).median
    })
}

/// The table of a case, and its plots: acquisitions and waits.
fn tabulate(
    scene: &Scene,
    rounds: &[Vec<Figures>],
    share_name: &str,
    share: fn(&Figures) -> f64,
) -> (Table, [Chart; 2]) {
    let mut table = Table::new([
        scene.case,
        "acquisitions/s",
        "× rslock",
        "to another task/s",
        share_name,
        "p50 wait ms",
        "p99 wait ms",
        "p99 × rslock",
        "worst ms",
        "commands each",
        "given up, unconfirmed",
    ]);
    let [mut rates, mut waits] = [set(scene), set(scene)];
    let rslock = &rounds[RSLOCK];
    for (entrant, rounds) in ENTRANTS.iter().zip(rounds) {
        let spread = |figure: fn(&Figures) -> f64| Spread::of(each(rounds, figure));
        let against = |figure: fn(&Figures) -> f64| {
            Spread::of_ratios(&each(rounds, figure), &each(rslock, figure)).to_string()
        };
        let rate = spread(|of| of.per_second);
        let wait = spread(|of| millis(of.wait_p99));
        table.row(&[
            entrant.name(),
            format!("{:.0}", rate.median),
            against(|of| of.per_second),
            format!("{:.0}", spread(|of| of.switches_per_second).median),
            spread(share).to_string(),
            format!("{:.2}", spread(|of| millis(of.wait_p50)).median),
            format!("{:.1}", wait.median),
            against(|of| millis(of.wait_p99)),
            format!("{:.0}", spread(|of| millis(of.wait_worst)).median),
            format!("{:.1}", spread(|of| of.commands_an_acquisition).median),
            given_up(rounds),
        ]);
        let role = Role::of(entrant.kind);
        let label = brief(rate.median);
        rates
            .bars
            .push(Bar::new(entrant.name(), role, Some(rate), label));
        let label = format!("{} ms", brief(wait.median));
        waits
            .bars
            .push(Bar::new(entrant.name(), role, Some(wait), label));
    }
    let chart = |title: &str, axis: &str, set: Set| {
        let mut chart = Chart::new(title, axis, Scale::Linear);
        chart.sets.push(set);
        chart
    };
    let charts = [
        chart(
            "One hot key: acquisitions a second",
            "median, smallest and largest round",
            rates,
        ),
        chart(
            "One hot key: the longest wait of 99 in 100",
            "ms; median, smallest and largest round",
            waits,
        ),
    ];
    (table, charts)
}

fn set(scene: &Scene) -> Set {
    Set {
        name: scene.case.to_owned(),
        bars: Vec::new(),
        line: None,
    }
}

pub(super) fn given_up(rounds: &[Figures]) -> String {
    let sum = |count: fn(&Figures) -> usize| rounds.iter().map(count).sum::<usize>();
    format!("{}, {}", sum(|of| of.refused), sum(|of| of.unconfirmed))
}

fn finish(report: &mut Report, name: &str, table: Table, charts: [Chart; 2]) {
    let [rate, wait] = charts;
    report.table(table);
    report.chart(&format!("{name}-rate"), rate);
    report.chart(&format!("{name}-wait"), wait);
}
