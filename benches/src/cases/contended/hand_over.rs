//! The time from a release to the next grant, when another process waits.

use std::time::Duration;

use redlock_tests::Nodes;

use super::hot::given_up;
use super::{Entrant, OURS, Scene, Team, measure};
use crate::contended::{Figures, Lock};
use crate::plan::Plan;
use crate::plot::{Bar, Chart, Role, Scale, Set};
use crate::report::Bound::AtMost;
use crate::report::Report;
use crate::stats::{Spread, brief, millis, percentile};
use crate::table::Table;

/// The shortest delay that `rslock` can be given: it polls as fast as it can.
const ENTRANTS: [Entrant; 5] = Entrant::all(Duration::from_millis(1));

/// What the median may take, in ms.
const MOST: f64 = 3.0;

/// The holder stays away for a while, so that the other one has no rival: what is measured is how
/// it hears of the release.
pub(super) const STAYS_AWAY: Scene = Scene {
    case: "the holder asks again after 10 ms",
    lock: Lock::Plain,
    crowds: &[1; 2],
    hold: Duration::from_millis(20),
    pause: Duration::from_millis(10),
};

/// The holder is its rival, and has the shorter way: it asks again with the answer to its release.
/// A release that the other one does not profit by counts until one comes that it does.
pub(super) const COMES_BACK: Scene = Scene {
    case: "the holder asks again at once",
    pause: Duration::ZERO,
    ..STAYS_AWAY
};

/// The two processes take the key in turns, if they can, all contenders side by side.
pub fn hand_over(plan: &Plan, nodes: &Nodes, urls: &[String], report: &mut Report) {
    let mut team = Team::apart(nodes, urls);
    let mut chart = Chart::new(
        "From a release to the other process' acquisition",
        "ms, logarithmic; median of a round: median, smallest and largest round",
        Scale::Logarithmic,
    );
    for scene in [&STAYS_AWAY, &COMES_BACK] {
        let rounds = measure(plan, scene, plan.held, &ENTRANTS, &mut team, report);
        let set = print(scene, &rounds, report);
        chart.sets.push(set);
    }
    report.chart("hand-over", chart);
}

fn print(scene: &Scene, rounds: &[Vec<Figures>], report: &mut Report) -> Set {
    let mut table = Table::new([
        scene.case,
        "p50 ms",
        "p99 ms",
        "handed over, of all",
        "worst wait ms",
        "commands each",
        "given up, unconfirmed",
    ]);
    let mut set = Set {
        name: scene.case.to_owned(),
        bars: Vec::new(),
        line: Some((MOST, format!("≤ {MOST} ms"))),
    };
    for (entrant, rounds) in ENTRANTS.iter().zip(rounds) {
        let who = entrant.name();
        let medians = medians(rounds);
        report.figure(scene.case, &who, "hand_over_p50_ms", &medians);
        let all = rounds.iter().flat_map(|of| of.hand_overs.iter().copied());
        let mut all: Vec<Duration> = all.collect();
        all.sort_unstable();
        let spread = Spread::of_any(medians);
        let shown = |figure: Option<String>| figure.unwrap_or_else(|| "–".to_owned());
        let handed = Spread::of(rounds.iter().map(|of| of.handed_over));
        let worst = rounds.iter().map(|of| of.wait_worst).max();
        let commands = rounds.iter().map(|of| of.commands_an_acquisition);
        table.row(&[
            who.clone(),
            shown(spread.map(|spread| spread.to_string())),
            shown(
                all.last()
                    .map(|_| format!("{:.2}", millis(percentile(&all, 99)))),
            ),
            format!("{:.0} %", 100.0 * handed.median),
            format!("{:.0}", millis(worst.unwrap_or_default())),
            format!("{:.1}", Spread::of(commands).median),
            given_up(rounds),
        ]);
        let label = spread.map(|spread| format!("{} ms", brief(spread.median)));
        let label = label.unwrap_or_else(|| "never".to_owned());
        set.bars
            .push(Bar::new(who, Role::of(entrant.kind), spread, label));
    }
    let ours = Spread::of_any(medians(&rounds[OURS]));
    // Never is longer than any line.
    let found = ours.map_or(f64::INFINITY, |spread| spread.median);
    report.line(&mut table, scene.case, "p50 in ms", AtMost(MOST), found);
    report.table(table);
    set
}

/// The median hand-over of each round that has hand-overs.
pub(super) fn medians(rounds: &[Figures]) -> Vec<f64> {
    let handed = rounds.iter().filter(|of| !of.hand_overs.is_empty());
    handed
        .map(|of| millis(percentile(&of.hand_overs, 50)))
        .collect()
}
