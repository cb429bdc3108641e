//! The share of each process in a few permits for which several processes compete.

use std::time::Duration;

use redlock_tests::Nodes;

use super::{Entrant, Scene, Team, measure};
use crate::contended::{Figures, Lock};
use crate::contender::{Kind, WAIT_FOR_PERMIT};
use crate::group::Group;
use crate::plan::Plan;
use crate::report::Bound::{AtLeast, AtMost};
use crate::report::{Report, each};
use crate::stats::{Spread, millis, whole};
use crate::table::Table;

/// An equal part of the permits in a turn is so many acquisitions for each process, if there is time.
const ACQUISITIONS: u32 = 200;

/// What the worst process of the worst round has to get.
const LEAST: f64 = 0.7;

const SCENES: [Scene; 9] = [
    scene("3 × 4, 2 permits, held for 5 ms", &[4; 3], 2, 5),
    scene("3 × 4, 2 permits, held for 20 ms", &[4; 3], 2, 20),
    scene("3 × 4, 2 permits, held for 200 ms", &[4; 3], 2, 200),
    scene("2 × 8, 2 permits, held for 20 ms", &[8; 2], 2, 20),
    scene("5 × 1, 2 permits, held for 20 ms", &[1; 5], 2, 20),
    scene("5 × 4, 8 permits, held for 20 ms", &[4; 5], 8, 20),
    scene("1 and 8, 2 permits, held for 20 ms", &[1, 8], 2, 20),
    scene("1, 8 and 8, 2 permits, held for 20 ms", &[1, 8, 8], 2, 20),
    scene("1 × 4, 2 permits", &[4], 2, 0),
];

const fn scene(case: &'static str, crowds: &'static [usize], permits: u16, hold: u64) -> Scene {
    Scene {
        case,
        lock: Lock::Permit(permits),
        crowds,
        hold: Duration::from_millis(hold),
        pause: Duration::ZERO,
    }
}

/// A few permits, several processes, ours alone.
pub fn permits(plan: &Plan, nodes: &Nodes, urls: &[String], report: &mut Report) {
    let mut plan = plan.clone();
    plan.rounds = plan.rounds_of(Group::Permits);
    let mut table = Table::new([
        "processes × tasks",
        "worst / best process",
        "least part",
        "acquisitions of each, in the worst round",
        "acquisitions/s",
        "p99 wait ms",
        "given up",
        "longest idle ms",
        "most at once",
    ]);
    let ours = [Entrant::new(Kind::Ours, Duration::ZERO)];
    for scene in &SCENES {
        // By then all callers have asked.
        plan.warm_up = scene.hold.max(plan.warm_up);
        let mut team = Team::of(scene.crowds.len(), nodes, urls);
        let rounds = measure(&plan, scene, length(&plan, scene), &ours, &mut team, report);
        print(scene, &rounds[0], report, &mut table);
    }
    report.table(table);
}

/// Returns how long a turn is.
fn length(plan: &Plan, scene: &Scene) -> Duration {
    let an_acquisition = scene.hold.div_f64(whole(scene.lock.permits()));
    let processes = u32::try_from(scene.crowds.len()).unwrap_or(u32::MAX);
    let length = an_acquisition * ACQUISITIONS * processes;
    if length.is_zero() {
        plan.hot
    } else {
        length.min(plan.shares)
    }
}

fn print(scene: &Scene, rounds: &[Figures], report: &mut Report, table: &mut Table) {
    let spread = |figure: fn(&Figures) -> f64| Spread::of(each(rounds, figure));
    let share = spread(|of| of.worst_to_best_process);
    let part = spread(|of| of.least_part);
    let idle = spread(|of| millis(of.longest_idle));
    let most_at_once = spread(|of| whole(of.most_at_once));
    let given_up: usize = rounds.iter().map(|of| of.refused).sum();
    let worst = rounds
        .iter()
        .min_by(|one, other| one.least_part.total_cmp(&other.least_part));
    let of_each = worst.iter().flat_map(|of| &of.of_each);
    let of_each: Vec<_> = of_each.map(ToString::to_string).collect();
    table.row(&[
        scene.case.to_owned(),
        share.to_string(),
        part.to_string(),
        of_each.join(", "),
        format!("{:.0}", spread(|of| of.per_second).median),
        format!("{:.0}", spread(|of| millis(of.wait_p99)).median),
        given_up.to_string(),
        format!("{:.1} ({:.1}–{:.1})", idle.median, idle.min, idle.max),
        format!("{:.0}", most_at_once.max),
    ]);
    let is_equal = scene.crowds.iter().all(|tasks| *tasks == scene.crowds[0]);
    let (what, least) = if is_equal {
        ("worst / best process of the worst round", share.min)
    } else {
        ("least part of the worst round", part.min)
    };
    let mut line = |what: &str, bound, found| {
        let what = format!("{}: {what}", scene.case);
        report.line(table, scene.case, &what, bound, found);
    };
    line(what, AtLeast(LEAST), least);
    let permits = whole(scene.lock.permits());
    line("most at once", AtMost(permits), most_at_once.max);
    let callers = whole(scene.crowds.iter().sum());
    if scene.hold.mul_f64(callers / permits) < WAIT_FOR_PERMIT / 5 {
        line("given up", AtMost(0.0), whole(given_up));
    }
}
