//! Lock and release, compared with other systems.

mod tables;

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use redlock_interop_tests::{Answer, Program};
use redlock_tests::{Nodes, Service};
use tokio::runtime::Runtime;

use super::{Flavor, runtime};
use crate::clock::now;
use crate::contended::Window;
use crate::contender::in_turn;
use crate::load::{PREFIX, keys_left};
use crate::peers::{Measured, Outcome, Servers, System};
use crate::plan::{Mode, Plan};
use crate::report::Report;
use crate::stats::millis;

use tables::print;

struct Case {
    name: &'static str,
    processes: usize,
    /// Of each process.
    callers: usize,
    /// True if each caller has a lock of its own.
    own: bool,
    /// True if a pair may take a second.
    is_long: bool,
}

const ONE: Case = Case {
    name: "1 caller",
    processes: 1,
    callers: 1,
    own: true,
    is_long: false,
};
const SIXTEEN: Case = Case {
    name: "16 callers",
    callers: 16,
    ..ONE
};
const HOT: Case = Case {
    name: "one hot lock, 2 processes × 8 callers",
    processes: 2,
    callers: 8,
    own: false,
    is_long: true,
};
const FROZEN: Case = Case {
    name: "1 caller, a node hangs",
    is_long: true,
    ..ONE
};
const KILLED: Case = Case {
    name: "1 caller, a node is dead",
    ..ONE
};
const CASES: [Case; 5] = [ONE, SIXTEEN, HOT, FROZEN, KILLED];

/// How many of [`CASES`] have all nodes.
const HEALTHY: usize = 3;

/// How long a program may take beyond its turn. A program that takes longer counts as hanging. The time is longer
/// than the ttl of a lock that was left, and than etcd takes to give an entry up.
const PATIENCE: Duration = Duration::from_secs(12);

/// Answered once a program has started.
const START_UP: Case = Case { callers: 0, ..HOT };
/// Connections, and what a program compiles at first.
const WARM_UP: Case = Case {
    processes: HOT.processes,
    ..SIXTEEN
};

/// How long a program may take to start.
const START: Duration = Duration::from_secs(60);

/// Around the death of etcd's leader.
const ELECTION: Duration = Duration::from_secs(4);

/// The outcome of each round; `None` if a program did not answer.
type Rounds = Vec<Option<Outcome>>;

/// A system with its programs.
struct Seat {
    system: System,
    /// Empty if it is not measured, or if one did not answer.
    programs: Vec<Program>,
    /// Why it is not measured.
    not_run: Option<String>,
}

impl Seat {
    fn start(plan: &Plan, system: System, servers: &Servers<'_>) -> Self {
        let started = (0..HOT.processes).map(|_| servers.client(system)).collect();
        let (programs, not_run) = match started {
            Ok(programs) => (programs, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let mut seat = Self {
            system,
            programs,
            not_run,
        };
        for (case, run) in [(&START_UP, Duration::ZERO), (&WARM_UP, plan.run / 2)] {
            seat.take(case, Window::after(Duration::ZERO, run), START);
        }
        seat
    }

    /// One turn; `None` if a program does not answer within `patience` behind its end.
    fn take(&mut self, case: &Case, window: Window, patience: Duration) -> Option<Outcome> {
        let name = self.system.name().replace([' ', ','], "");
        let own = if case.own { "own" } else { "one" };
        let order = format!(
            // Whatever an ended program left is in no other turn.
            "measure {PREFIX}{name}:{} {own} {} {}",
            window.begin, case.callers, window.end
        );
        let programs = self.programs.get_mut(..case.processes)?;
        for program in &mut *programs {
            program.send(&order);
        }
        let limit = Duration::from_nanos(window.end.saturating_sub(now())) + patience;
        let answers = programs
            .iter_mut()
            .map(|program| match program.answer_within(limit)? {
                Answer::Ok(calls) => Some(serde_json::from_str(&calls).expect("calls")),
                Answer::Refused(why) => panic!("{name}: {why}"),
            });
        let answers: Option<Vec<Measured>> = answers.collect();
        if answers.is_none() {
            // It would answer in the middle of another turn.
            self.programs.clear();
        }
        Some(Outcome::of(answers?, window, !case.own))
    }
}

/// Pairs of each system, side by side. `neighbours` is the folder of `tests/interop/install`.
pub fn peers(plan: &Plan, nodes: &Nodes, neighbours: PathBuf, report: &mut Report) {
    let runtime = runtime(Flavor::MultiThread);
    let servers = runtime.block_on(Servers::start(nodes, neighbours));
    let mut seats = System::ALL.map(|system| Seat::start(plan, system, &servers));
    let mut remarks = Vec::new();
    let mut rounds = measure(plan, &CASES[..HEALTHY], &mut seats, Some(&servers));
    look_behind(&runtime, nodes, &mut remarks, report);

    start_again(plan, &mut seats, &servers);

    // The last one, which is no first choice of any client.
    nodes[2].freeze();
    if let Ok(etcd) = &servers.etcd {
        etcd.follower().freeze();
    }
    rounds.extend(measure(plan, &[FROZEN], &mut seats, None));
    nodes[2].thaw();
    if let Ok(etcd) = &servers.etcd {
        etcd.thaw();
    }
    start_again(plan, &mut seats, &servers);

    nodes[2].kill();
    if let Ok(etcd) = &servers.etcd {
        if plan.mode == Mode::Smoke {
            etcd.follower().kill();
        } else {
            let leader = runtime.block_on(etcd.leader());
            remarks.extend(kill_leader(leader, &mut seats[System::Etcd as usize]));
        }
    }
    rounds.extend(measure(plan, &[KILLED], &mut seats, None));
    print(&seats, &rounds, remarks, report);
}

/// The programs that were ended because they did not answer.
fn start_again(plan: &Plan, seats: &mut [Seat], servers: &Servers<'_>) {
    for seat in seats {
        if seat.programs.is_empty() && seat.not_run.is_none() {
            *seat = Seat::start(plan, seat.system, servers);
        }
    }
}

/// Each system's turns in each of `cases`, side by side. With `servers`, a program that did not answer is there
/// again in the next round.
fn measure(
    plan: &Plan,
    cases: &[Case],
    seats: &mut [Seat],
    servers: Option<&Servers<'_>>,
) -> Vec<Vec<Rounds>> {
    let mut rounds = vec![vec![Rounds::new(); seats.len()]; cases.len()];
    for round in 0..plan.rounds {
        if let Some(servers) = servers {
            start_again(plan, seats, servers);
        }
        for (case, rounds) in cases.iter().zip(&mut rounds) {
            for place in in_turn(seats.len(), round) {
                let run = if case.is_long {
                    plan.held
                } else {
                    plan.run / 2
                };
                let window = Window::after(plan.warm_up + Duration::from_millis(2), run);
                rounds[place].push(seats[place].take(case, window, PATIENCE));
            }
        }
    }
    rounds
}

/// Kills etcd's leader in the middle of a turn. The longest pair waited for the election of another leader.
fn kill_leader(leader: &Service, seat: &mut Seat) -> Option<String> {
    let killed = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(ELECTION / 4);
            leader.kill();
        });
        seat.take(&ONE, Window::after(Duration::ZERO, ELECTION), PATIENCE)
    })?;
    let failed = killed.failures;
    let longest = millis(killed.worst);
    Some(format!(
        "etcd: the dead member was the leader; the longest pair around its death took {longest:.0} ms, and {failed} failed"
    ))
}

/// Notes the locks that are left on the nodes. Of ours there may be none.
fn look_behind(runtime: &Runtime, nodes: &Nodes, remarks: &mut Vec<String>, report: &mut Report) {
    let left = runtime.block_on(keys_left(nodes));
    if let Some(first) = left.first() {
        let note = format!("{} locks were left on a node, first: {first}", left.len());
        if left.iter().any(|key| key.starts_with("bench:redlock")) {
            report.problem(note);
        } else {
            remarks.push(note);
        }
    }
}
