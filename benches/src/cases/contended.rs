//! One key for which many callers compete.

use std::time::Duration;

use redlock_tests::{Nodes, Proxy};
use tokio::runtime::Runtime;

use super::{Flavor, runtime};
use crate::contended::{Crew, Figures, Lock, Turn, Window, hammer};
use crate::contender::{Fleet, Kind, rounds};
use crate::load::{PREFIX, keys_left};
use crate::plan::{Mode, Plan};
use crate::report::{Named, Report};
use crate::stats::{millis, percentile, whole};

/// The same actions for everybody in a case.
#[derive(Clone, Copy, Debug)]
struct Scene {
    case: &'static str,
    lock: Lock,
    /// The number of tasks of each process.
    crowds: &'static [usize],
    hold: Duration,
    pause: Duration,
}

const fn scene(case: &'static str, crowds: &'static [usize], hold: u64) -> Scene {
    Scene {
        case,
        lock: Lock::Plain,
        crowds,
        hold: Duration::from_millis(hold),
        pause: Duration::ZERO,
    }
}

const ONE_PROCESS: Scene = scene("1 process × 64 tasks", &[64], 0);
const TWO_PROCESSES: Scene = scene("2 processes × 32 tasks", &[32; 2], 0);

/// The holder stays away for a while and so is no rival: the figure is how the other one hears of the release.
const STAYS_AWAY: Scene = Scene {
    pause: Duration::from_millis(10),
    ..scene("the holder asks again after 10 ms", &[1; 2], 20)
};

/// The holder is a rival and has the shorter way, because it asks again with the answer to its release.
const COMES_BACK: Scene = scene("the holder asks again at once", &[1; 2], 20);

const SHARES: [Scene; 2] = [
    scene("4 processes × 250 tasks", &[250; 4], 0),
    scene("4 processes × 250 tasks, held for 1 ms", &[250; 4], 1),
];

const FAR_AWAY: [Scene; 2] = [
    scene(
        "4 processes × 250 tasks, nodes 12 ms away and back",
        &[250; 4],
        0,
    ),
    scene(
        "4 processes × 1 task, nodes 12 ms away and back",
        &[1; 4],
        0,
    ),
];

/// Scenes for fenced locks beside plain ones, with the number of processes.
const FENCED: [Scene; 3] = [
    ONE_PROCESS,
    scene("2 processes × 8 tasks", &[8; 2], 0),
    scene("4 processes × 8 tasks", &[8; 4], 0),
];

const PERMITS: [Scene; 9] = [
    scene("3 × 4, 2 permits, held for 5 ms", &[4; 3], 5).of_permits(2),
    scene("3 × 4, 2 permits, held for 20 ms", &[4; 3], 20).of_permits(2),
    scene("3 × 4, 2 permits, held for 200 ms", &[4; 3], 200).of_permits(2),
    scene("2 × 8, 2 permits, held for 20 ms", &[8; 2], 20).of_permits(2),
    scene("5 × 1, 2 permits, held for 20 ms", &[1; 5], 20).of_permits(2),
    scene("5 × 4, 8 permits, held for 20 ms", &[4; 5], 20).of_permits(8),
    scene("1 and 8, 2 permits, held for 20 ms", &[1, 8], 20).of_permits(2),
    scene("1, 8 and 8, 2 permits, held for 20 ms", &[1, 8, 8], 20).of_permits(2),
    scene("1 × 4, 2 permits", &[4], 0).of_permits(2),
];

/// An equal part of the permits in a turn is so many acquisitions for each process, if there is time.
const ACQUISITIONS: u32 = 200;

impl Scene {
    const fn of_permits(mut self, count: u16) -> Self {
        self.lock = Lock::Permit(count);
        self
    }

    /// Returns the length of a turn for permits.
    fn length(&self, plan: &Plan) -> Duration {
        let an_acquisition = self.hold.div_f64(whole(self.lock.permits()));
        let processes = u32::try_from(self.crowds.len()).unwrap_or(u32::MAX);
        let length = an_acquisition * ACQUISITIONS * processes;
        if length.is_zero() {
            plan.hot
        } else {
            length.min(plan.shares)
        }
    }
}

/// A participant: a contender, with its retry delay if it polls.
#[derive(Clone, Copy, Debug)]
struct Entrant {
    kind: Kind,
    retry_delay: Duration,
}

impl Entrant {
    const OURS: [Self; 1] = [Self::new(Kind::Ours, 0)];
    const FENCED: [Self; 2] = [Self::new(Kind::Ours, 0), Self::new(Kind::Fenced, 0)];

    /// Returns all, with a retry delay in ms that serves the polling ones well. `rslock` takes part with its default of
    /// 200 ms, too.
    const fn all(retry_delay: u64) -> [Self; 5] {
        [
            Self::new(Kind::Ours, retry_delay),
            Self::new(Kind::Rslock, retry_delay),
            Self::new(Kind::Rslock, 200),
            Self::new(Kind::WaitForAll, retry_delay),
            Self::new(Kind::WaitForMajority, retry_delay),
        ]
    }

    const fn new(kind: Kind, retry_delay: u64) -> Self {
        Self {
            kind,
            retry_delay: Duration::from_millis(retry_delay),
        }
    }

    /// Returns its name in the tables.
    fn name(&self) -> String {
        match self.kind {
            Kind::Ours | Kind::Fenced => self.kind.name().to_owned(),
            kind => format!("{}, {} ms", kind.name(), self.retry_delay.as_millis()),
        }
    }
}

/// With this retry delay `rslock` hands the key on about as often as with any, and has nearly its
/// shortest waits. With a longer one it makes more acquisitions, as one task keeps the key while the
/// others sleep.
const HOT: [Entrant; 5] = Entrant::all(20);

/// With the shortest delay that `rslock` accepts, it polls as fast as it can.
const FAST: [Entrant; 5] = Entrant::all(1);

/// Measures one key and 64 tasks of this process, all contenders side by side.
pub fn hot_key(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let team = &mut Team::here(nodes);
    measure(plan, &ONE_PROCESS, plan.hot, &HOT, team, report);
}

/// Measures one key and two processes of 32 tasks each, all contenders side by side.
pub fn hot_key_processes(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let team = &mut Team::of(2, nodes, &nodes.urls());
    measure(plan, &TWO_PROCESSES, plan.hot, &HOT, team, report);
}

/// Measures one key of one, two and four processes, plain and fenced side by side.
pub fn fenced_hot(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    for scene in &FENCED {
        let team = &mut match scene.crowds.len() {
            1 => Team::here(nodes),
            processes => Team::of(processes, nodes, &nodes.urls()),
        };
        measure(plan, scene, plan.hot, &Entrant::FENCED, team, report);
    }
}

/// Measures how long a released key takes to reach the process that waits for it, all contenders side by side.
pub fn hand_over(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let team = &mut Team::of(2, nodes, &nodes.urls());
    for scene in [&STAYS_AWAY, &COMES_BACK] {
        measure(plan, scene, plan.held, &FAST, team, report);
    }
}

/// Measures the shares of four processes of one key, ours alone.
pub fn shares(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let mut plan = plan.at_most(3);
    // By then each process has met all the others.
    plan.warm_up = plan.shares / 4;
    let mut share = |scenes: &[Scene], urls: &[String]| {
        let team = &mut Team::of(4, nodes, urls);
        for scene in scenes {
            measure(&plan, scene, plan.shares, &Entrant::OURS, team, report);
        }
    };
    share(&SHARES, &nodes.urls());
    let network = runtime(Flavor::MultiThread);
    let proxies: Vec<_> = nodes
        .iter()
        .map(|node| network.block_on(Proxy::start(node)))
        .collect();
    for proxy in &proxies {
        proxy.delay(Duration::from_millis(6));
    }
    let urls: Vec<_> = proxies.iter().map(Proxy::url).collect();
    share(&FAR_AWAY, &urls);
}

/// Measures the shares of several processes of a few permits, ours alone.
pub fn permits(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let rounds = if plan.mode == Mode::Short {
        3
    } else {
        plan.rounds
    };
    let mut plan = plan.at_most(rounds);
    for scene in &PERMITS {
        // By then all callers have asked.
        plan.warm_up = scene.hold.max(plan.warm_up);
        let team = &mut Team::of(scene.crowds.len(), nodes, &nodes.urls());
        let length = scene.length(&plan);
        measure(&plan, scene, length, &Entrant::OURS, team, report);
    }
}

/// Measures which retry delay serves `rslock` best: no peer should lose for want of a setting.
pub fn tuning(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let delays = [1, 2, 5, 10, 20, 50, 100, 200];
    let entrants = delays.map(|delay| Entrant::new(Kind::Rslock, delay));
    let team = &mut Team::here(nodes);
    measure(plan, &ONE_PROCESS, plan.hot, &entrants, team, report);
    let team = &mut Team::of(2, nodes, &nodes.urls());
    measure(plan, &TWO_PROCESSES, plan.hot, &entrants, team, report);
    for scene in [&STAYS_AWAY, &COMES_BACK] {
        measure(plan, scene, plan.held, &entrants, team, report);
    }
}

/// Gives every entrant its turns in a case, side by side, and reports their figures and problems.
fn measure(
    plan: &Plan,
    scene: &Scene,
    run: Duration,
    entrants: &[Entrant],
    team: &mut Team<'_>,
    report: &mut Report,
) {
    let all = rounds(plan.rounds, entrants.len(), |place| {
        team.take_turn(scene, &entrants[place], plan.warm_up, run)
    });
    for (entrant, rounds) in entrants.iter().zip(&all) {
        for figures in rounds {
            report.count(figures.acquisitions);
            for problem in &figures.problems {
                report.problem(format!("{}, {}: {problem}", scene.case, entrant.name()));
            }
        }
        report.add(scene.case, &entrant.name(), &FIGURES, rounds);
    }
}

/// The processes and tasks that take turns.
struct Team<'a> {
    processes: Processes,
    runtime: Runtime,
    nodes: &'a Nodes,
    /// No turn sees what another one left.
    turns: usize,
}

enum Processes {
    This(Fleet),
    Others(Crew),
}

impl<'a> Team<'a> {
    /// Returns the tasks of this very process.
    fn here(nodes: &'a Nodes) -> Self {
        let runtime = runtime(Flavor::MultiThread);
        let fleet = runtime.block_on(Fleet::connect(&nodes.urls()));
        Self::new(Processes::This(fleet), runtime, nodes)
    }

    /// Starts `processes` other processes, which reach the nodes at `urls`.
    fn of(processes: usize, nodes: &'a Nodes, urls: &[String]) -> Self {
        let crew = Processes::Others(Crew::start(processes, urls));
        Self::new(crew, runtime(Flavor::CurrentThread), nodes)
    }

    fn new(processes: Processes, runtime: Runtime, nodes: &'a Nodes) -> Self {
        Self {
            processes,
            runtime,
            nodes,
            turns: 0,
        }
    }

    /// Takes one turn of one entrant, and searches the nodes for keys that it left.
    fn take_turn(
        &mut self,
        scene: &Scene,
        entrant: &Entrant,
        warm_up: Duration,
        run: Duration,
    ) -> Figures {
        self.turns += 1;
        // Workers have to hear of it first.
        let notice = Duration::from_millis(2);
        let kind = entrant.kind;
        let turn = Turn {
            kind,
            key: format!("{PREFIX}hot:{}:{}", kind.name(), self.turns),
            lock: scene.lock,
            crowds: scene.crowds.to_vec(),
            hold: scene.hold,
            pause: scene.pause,
            retry_delay: entrant.retry_delay,
            window: Window::after(warm_up + notice, run),
        };
        let served = self.served();
        let logs = match &mut self.processes {
            Processes::This(fleet) => {
                vec![self.runtime.block_on(hammer(fleet.get(kind), &turn, 0))]
            }
            Processes::Others(crew) => crew.take(&turn),
        };
        let served = self.served().saturating_sub(served);
        let mut figures = Figures::of(&turn, &logs, served);
        let problems = &mut figures.problems;
        if let Some(first) = self.runtime.block_on(keys_left(self.nodes)).first() {
            problems.push(format!("keys left, first: {first}"));
        }
        // A permit may be given up: the tables have a line for that.
        if kind == Kind::Ours && scene.lock == Lock::Plain && figures.refused > 0 {
            let first = logs.iter().find_map(|log| log.first_error.as_deref());
            let first = first.unwrap_or_default();
            problems.push(format!("{} given up, first: {first}", figures.refused));
        }
        figures
    }

    /// Returns the commands that all nodes have served so far, those of scripts included.
    fn served(&self) -> usize {
        let served = |node: &redlock_tests::RedisNode| -> usize {
            let count = node.info("total_commands_processed");
            count.and_then(|count| count.parse().ok()).unwrap_or(0)
        };
        self.nodes.iter().map(served).sum()
    }
}

/// Returns a hand-over's time in ms, or no number for a turn without hand-overs.
fn hand_over_ms(of: &Figures, percent: usize) -> f64 {
    if of.hand_overs.is_empty() {
        f64::NAN
    } else {
        millis(percentile(&of.hand_overs, percent))
    }
}

const FIGURES: [Named<Figures>; 17] = [
    ("acquisitions_per_second", |of| of.per_second),
    ("switches_per_second", |of| of.switches_per_second),
    ("worst_to_best_task", |of| of.worst_to_best_task),
    ("worst_to_best_process", |of| of.worst_to_best_process),
    ("wait_p50_ms", |of| millis(of.wait_p50)),
    ("wait_p99_ms", |of| millis(of.wait_p99)),
    ("wait_worst_ms", |of| millis(of.wait_worst)),
    ("handed_over", |of| of.handed_over),
    ("hand_over_p50_ms", |of| hand_over_ms(of, 50)),
    ("hand_over_p99_ms", |of| hand_over_ms(of, 99)),
    ("commands_an_acquisition", |of| of.commands_an_acquisition),
    ("given_up", |of| whole(of.refused)),
    ("unconfirmed", |of| whole(of.unconfirmed)),
    ("least_part", |of| of.least_part),
    ("longest_idle_ms", |of| millis(of.longest_idle)),
    ("longest_away_ms", |of| millis(of.longest_away)),
    ("most_at_once", |of| whole(of.most_at_once)),
];
