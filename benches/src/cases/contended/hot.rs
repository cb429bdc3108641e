//! Tasks that take a key in turns, as fast as they can.

use std::time::Duration;

use redlock_tests::Nodes;

use super::{Scene, Team, note};
use crate::contended::Figures;
use crate::contender::{Kind, in_turn};
use crate::plan::Plan;
use crate::plot::{Bar, Chart, Role, Scale, Set};
use crate::report::Bound::{AtLeast, AtMost};
use crate::report::{Report, each};
use crate::stats::{Spread, brief, millis};
use crate::table::Table;

pub(super) const ONE_PROCESS: Scene = Scene {
    case: "1 process × 64 tasks",
    tasks: 64,
    hold: Duration::ZERO,
    pause: Duration::ZERO,
    retry_delay: Duration::from_millis(20),
};

pub(super) const TWO_PROCESSES: Scene = Scene {
    case: "2 processes × 32 tasks",
    tasks: 32,
    ..ONE_PROCESS
};

/// One key, 64 tasks of this process, all contenders side by side.
pub fn hot_key(plan: &Plan, nodes: &Nodes, urls: &[String], report: &mut Report) {
    let rounds = measure(plan, &ONE_PROCESS, &mut Team::here(nodes, urls), report);
    let (mut table, [rate, wait]) = tabulate(&ONE_PROCESS, &rounds, "worst / best task", |of| {
        of.worst_to_best_task
    });
    let [ours, rslock, ..] = &rounds;
    let case = ONE_PROCESS.case;
    let gain = ratio(ours, rslock, |of| of.per_second);
    report.line(
        &mut table,
        case,
        "acquisitions/s × rslock",
        AtLeast(10.0),
        gain,
    );
    let share = Spread::of(each(ours, |of| of.worst_to_best_task)).median;
    report.line(&mut table, case, "worst / best task", AtLeast(0.8), share);
    let wait_ratio = ratio(ours, rslock, |of| millis(of.wait_p99));
    report.line(
        &mut table,
        case,
        "p99 wait × rslock",
        AtMost(0.1),
        wait_ratio,
    );
    finish(report, "hot-key", table, rate, wait);
}

/// One key, two processes of 32 tasks each, all contenders side by side.
pub fn hot_key_processes(plan: &Plan, nodes: &Nodes, urls: &[String], report: &mut Report) {
    let rounds = measure(plan, &TWO_PROCESSES, &mut Team::apart(nodes, urls), report);
    let (mut table, [rate, wait]) =
        tabulate(&TWO_PROCESSES, &rounds, "worse / better process", |of| {
            of.worst_to_best_process
        });
    let [ours, rslock, ..] = &rounds;
    let case = TWO_PROCESSES.case;
    let gain = ratio(ours, rslock, |of| of.per_second);
    report.line(
        &mut table,
        case,
        "acquisitions/s × rslock",
        AtLeast(8.0),
        gain,
    );
    let share = Spread::of(each(ours, |of| of.worst_to_best_process)).median;
    report.line(
        &mut table,
        case,
        "worse / better process",
        AtLeast(0.7),
        share,
    );
    finish(report, "hot-key-processes", table, rate, wait);
}

type Rounds = [Vec<Figures>; Kind::ALL.len()];

fn measure(plan: &Plan, scene: &Scene, team: &mut Team<'_>, report: &mut Report) -> Rounds {
    let mut rounds = [const { Vec::new() }; Kind::ALL.len()];
    for round in 0..plan.rounds {
        for place in in_turn(Kind::ALL.len(), round) {
            rounds[place].push(team.take_turn(scene, Kind::ALL[place], plan, plan.hot));
        }
    }
    for (kind, rounds) in Kind::ALL.iter().zip(&rounds) {
        note(report, scene.case, kind.name(), rounds);
    }
    rounds
}

/// The table of a case, and its plots: acquisitions and waits.
fn tabulate(
    scene: &Scene,
    rounds: &Rounds,
    share_name: &str,
    share: fn(&Figures) -> f64,
) -> (Table, [Chart; 2]) {
    let mut table = Table::new([
        scene.case,
        "acquisitions/s",
        "to another task/s",
        "× rslock",
        share_name,
        "p50 wait ms",
        "p99 wait ms",
        "worst ms",
        "p99 × rslock",
        "given up, unconfirmed",
    ]);
    let mut rate_set = set(scene);
    let mut wait_set = set(scene);
    let rslock = &rounds[Kind::Rslock.place()];
    for (kind, rounds) in Kind::ALL.iter().zip(rounds) {
        let spread = |figure: fn(&Figures) -> f64| Spread::of(each(rounds, figure));
        let against = |figure: fn(&Figures) -> f64| {
            Spread::of_ratios(&each(rounds, figure), &each(rslock, figure)).to_string()
        };
        let rate = spread(|of| of.per_second);
        let wait = spread(|of| millis(of.wait_p99));
        table.row(&[
            kind.name().to_owned(),
            format!("{:.0}", rate.median),
            format!("{:.0}", spread(|of| of.switches_per_second).median),
            against(|of| of.per_second),
            spread(share).to_string(),
            format!("{:.2}", spread(|of| millis(of.wait_p50)).median),
            format!("{:.1}", wait.median),
            format!("{:.0}", spread(|of| millis(of.wait_worst)).median),
            against(|of| millis(of.wait_p99)),
            given_up(rounds),
        ]);
        rate_set.bars.push(bar(*kind, rate, ""));
        wait_set.bars.push(bar(*kind, wait, " ms"));
    }
    let mut charts = [
        Chart::new(
            "One hot key: acquisitions a second",
            "logarithmic; median, smallest and largest round",
            Scale::Logarithmic,
        ),
        Chart::new(
            "One hot key: the longest wait of 99 in 100",
            "ms, logarithmic; median, smallest and largest round",
            Scale::Logarithmic,
        ),
    ];
    charts[0].sets.push(rate_set);
    charts[1].sets.push(wait_set);
    (table, charts)
}

fn set(scene: &Scene) -> Set {
    Set {
        name: scene.case.to_owned(),
        bars: Vec::new(),
        line: None,
    }
}

fn bar(kind: Kind, spread: Spread, unit: &str) -> Bar {
    Bar {
        who: kind.name().to_owned(),
        role: if kind == Kind::Ours {
            Role::Ours
        } else {
            Role::Peer
        },
        spread: Some(spread),
        label: format!("{}{unit}", brief(spread.median)),
    }
}

fn ratio(ours: &[Figures], theirs: &[Figures], figure: fn(&Figures) -> f64) -> f64 {
    Spread::of_ratios(&each(ours, figure), &each(theirs, figure)).median
}

pub(super) fn given_up(rounds: &[Figures]) -> String {
    let sum = |count: fn(&Figures) -> usize| rounds.iter().map(count).sum::<usize>();
    format!("{}, {}", sum(|of| of.refused), sum(|of| of.unconfirmed))
}

fn finish(report: &mut Report, name: &str, table: Table, rate: Chart, wait: Chart) {
    report.table(table);
    report.chart(&format!("{name}-rate"), rate);
    report.chart(&format!("{name}-wait"), wait);
}
