//! The fairness among four processes, each with many callers for one key: the turns of the worst
//! process divided by those of the best one.

use std::time::Duration;

use redlock_tests::{Nodes, Proxy};

use super::{Entrant, Scene, Team, measure};
use crate::cases::{Flavor, runtime};
use crate::contended::{Figures, Lock};
use crate::contender::Kind;
use crate::group::Group;
use crate::plan::Plan;
use crate::report::Bound::AtLeast;
use crate::report::{Report, each};
use crate::stats::{Spread, millis};
use crate::table::Table;

const PROCESSES: usize = 4;

const AT_ONCE: Scene = Scene {
    case: "4 processes × 250 tasks",
    lock: Lock::Plain,
    crowds: &[250; PROCESSES],
    hold: Duration::ZERO,
    pause: Duration::ZERO,
};

const FOR_A_WHILE: Scene = Scene {
    case: "4 processes × 250 tasks, held for 1 ms",
    hold: Duration::from_millis(1),
    ..AT_ONCE
};

const FAR_AWAY: Scene = Scene {
    case: "4 processes × 250 tasks, nodes 12 ms away and back",
    ..AT_ONCE
};

const ONE_EACH_FAR_AWAY: Scene = Scene {
    case: "4 processes × 1 task, nodes 12 ms away and back",
    crowds: &[1; PROCESSES],
    ..AT_ONCE
};

/// One key, four processes, ours alone.
pub fn shares(plan: &Plan, nodes: &Nodes, urls: &[String], report: &mut Report) {
    let mut plan = plan.clone();
    plan.rounds = plan.rounds_of(Group::Shares);
    // By then each process has met all the others.
    plan.warm_up = plan.shares / 4;
    let mut table = Table::new([
        "",
        "worst / best process",
        "worst / best task",
        "acquisitions/s",
        "to another process",
        "p50 wait ms",
        "p99 wait ms",
    ]);
    let mut team = Team::of(PROCESSES, nodes, urls);
    for scene in [&AT_ONCE, &FOR_A_WHILE] {
        one(&plan, scene, &mut team, report, &mut table);
    }
    drop(team);
    let network = runtime(Flavor::MultiThread);
    let proxies = network.block_on(async {
        let mut started = Vec::new();
        for node in nodes {
            let proxy = Proxy::start(node).await;
            proxy.delay(Duration::from_millis(6));
            started.push(proxy);
        }
        started
    });
    let urls: Vec<String> = proxies.iter().map(Proxy::url).collect();
    let mut team = Team::of(PROCESSES, nodes, &urls);
    for scene in [&FAR_AWAY, &ONE_EACH_FAR_AWAY] {
        one(&plan, scene, &mut team, report, &mut table);
    }
    report.table(table);
}

fn one(plan: &Plan, scene: &Scene, team: &mut Team<'_>, report: &mut Report, table: &mut Table) {
    let ours = [Entrant::new(Kind::Ours, Duration::from_millis(200))];
    let rounds = measure(plan, scene, plan.shares, &ours, team, report);
    let rounds = &rounds[0];
    let spread = |figure: fn(&Figures) -> f64| Spread::of(each(rounds, figure));
    let share = spread(|of| of.worst_to_best_process);
    table.row(&[
        scene.case.to_owned(),
        share.to_string(),
        spread(|of| of.worst_to_best_task).to_string(),
        format!("{:.0}", spread(|of| of.per_second).median),
        format!("{:.4}", spread(|of| of.handed_over).median),
        format!("{:.2}", spread(|of| millis(of.wait_p50)).median),
        format!("{:.1}", spread(|of| millis(of.wait_p99)).median),
    ]);
    let name = "worst / best process";
    report.line(table, scene.case, name, AtLeast(0.8), share.median);
}
