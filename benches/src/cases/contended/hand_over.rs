//! How long a released key takes to reach the process that waits for it.

use std::time::Duration;

use redlock_tests::Nodes;

use super::hot::given_up;
use super::{Scene, Team, note};
use crate::contended::Figures;
use crate::contender::{Kind, in_turn};
use crate::plan::Plan;
use crate::plot::{Bar, Chart, Role, Scale, Set};
use crate::report::Bound::AtMost;
use crate::report::Report;
use crate::stats::{Spread, brief, millis, percentile, whole};
use crate::table::Table;

/// What the median may take, in ms.
const MOST: f64 = 3.0;

/// The holder stays away for a while, so that the other one has no rival: what is measured is how
/// it hears of the release.
pub(super) const STAYS_AWAY: Scene = Scene {
    case: "the holder asks again after 10 ms",
    tasks: 1,
    hold: Duration::from_millis(20),
    pause: Duration::from_millis(10),
    retry_delay: Duration::from_millis(5),
};

/// The holder is its rival, and has the shorter way: it asks again with the answer to its release.
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
        let mut rounds = [const { Vec::new() }; Kind::ALL.len()];
        for round in 0..plan.rounds {
            for place in in_turn(Kind::ALL.len(), round) {
                let kind = Kind::ALL[place];
                rounds[place].push(team.take_turn(scene, kind, plan, plan.held));
            }
        }
        let set = print(scene, &rounds, report);
        chart.sets.push(set);
    }
    report.chart("hand-over", chart);
}

fn print(scene: &Scene, rounds: &[Vec<Figures>; Kind::ALL.len()], report: &mut Report) -> Set {
    let mut table = Table::new([
        scene.case,
        "p50 ms",
        "p99 ms",
        "times handed over",
        "of all releases",
        "worst wait ms",
        "given up, unconfirmed",
    ]);
    let mut set = Set {
        name: scene.case.to_owned(),
        bars: Vec::new(),
        line: Some((MOST, format!("at most {MOST} ms"))),
    };
    let mut ours = None;
    for (kind, rounds) in Kind::ALL.iter().zip(rounds) {
        note(report, scene.case, kind.name(), rounds);
        // A round without any has no median.
        let medians: Vec<f64> = rounds
            .iter()
            .filter(|of| !of.hand_overs.is_empty())
            .map(|of| millis(percentile(&of.hand_overs, 50)))
            .collect();
        report.figure(scene.case, kind.name(), "hand_over_p50_ms", &medians);
        let mut all: Vec<Duration> = rounds
            .iter()
            .flat_map(|of| of.hand_overs.iter().copied())
            .collect();
        all.sort_unstable();
        let spread = Spread::of_any(medians);
        let shown = |figure: Option<String>| figure.unwrap_or_else(|| "–".to_owned());
        let holds: usize = rounds.iter().map(|of| of.acquisitions).sum();
        let worst = rounds.iter().map(|of| of.wait_worst).max();
        table.row(&[
            kind.name().to_owned(),
            shown(spread.map(|spread| spread.to_string())),
            shown(
                all.last()
                    .map(|_| format!("{:.2}", millis(percentile(&all, 99)))),
            ),
            all.len().to_string(),
            format!("{:.0} %", 100.0 * whole(all.len()) / whole(holds.max(1))),
            format!("{:.0}", millis(worst.unwrap_or_default())),
            given_up(rounds),
        ]);
        if *kind == Kind::Ours {
            ours = spread;
        }
        set.bars.push(Bar {
            who: kind.name().to_owned(),
            role: if *kind == Kind::Ours {
                Role::Ours
            } else {
                Role::Peer
            },
            spread,
            label: spread.map_or("never".to_owned(), |spread| {
                format!("{} ms", brief(spread.median))
            }),
        });
    }
    // Never is longer than any line.
    let found = ours.map_or(f64::INFINITY, |spread| spread.median);
    report.line(&mut table, scene.case, "p50 in ms", AtMost(MOST), found);
    report.table(table);
    set
}
