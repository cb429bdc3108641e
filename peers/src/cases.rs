//! The cases, in which all systems take turns.

use std::thread;
use std::time::Duration;

use redlock_benches::{
    Figures, Hold, Kind, Lock, Log, Mode, Named, PREFIX, Plan, Report, Turn, Window, in_turn,
    keys_left, micros, millis, now, whole,
};
use redlock_interop_tests::{Answer, Program};
use redlock_tests::{Nodes, Service};
use tokio::runtime::Runtime;

use crate::client::Measured;
use crate::servers::{SYSTEMS, Servers, has_one_server};

struct Case {
    name: &'static str,
    /// The callers of each process.
    crowds: &'static [usize],
    /// True if each caller has a lock of its own.
    is_own: bool,
    /// True if a pair may take a second.
    is_long: bool,
}

const ONE: Case = Case {
    name: "1 caller",
    crowds: &[1],
    is_own: true,
    is_long: false,
};
const SIXTEEN: Case = Case {
    name: "16 callers",
    crowds: &[16],
    ..ONE
};
const HOT: Case = Case {
    name: "one hot lock, 2 processes × 8 callers",
    crowds: &[8; 2],
    is_own: false,
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

/// Connects all callers, and compiles what a program compiles at first.
const WARM_UP: Case = Case {
    crowds: &[16; 2],
    ..ONE
};

/// The longest time for the start of a program.
const START: Duration = Duration::from_secs(60);

/// The time after its turn after which a program counts as hanging. It is longer than the ttl of a lock that was
/// left, and than etcd takes to give an entry up.
const PATIENCE: Duration = Duration::from_secs(12);

/// The length of the turn around the death of etcd's leader.
const ELECTION: Duration = Duration::from_secs(4);

/// The figures of a turn.
struct Outcome {
    is_one_lock: bool,
    figures: Figures,
    first_failure: Option<String>,
}

/// The turn of a program that did not answer has no figures.
type Turned = Option<Outcome>;

fn value(of: &Turned, figure: fn(&Outcome) -> f64) -> f64 {
    of.as_ref().map_or(f64::NAN, figure)
}

const FIGURES: [Named<Turned>; 8] = [
    ("pairs_per_second", |of| {
        value(of, |of| of.figures.per_second)
    }),
    ("p50_us", |of| value(of, |of| micros(of.figures.pair_p50))),
    ("p99_us", |of| value(of, |of| micros(of.figures.pair_p99))),
    ("worst_us", |of| {
        value(of, |of| micros(of.figures.pair_worst))
    }),
    ("hand_overs_per_second", |of| value(of, hand_overs)),
    ("wait_p99_ms", |of| {
        value(of, |of| millis(of.figures.wait_p99))
    }),
    ("wait_worst_ms", |of| {
        value(of, |of| millis(of.figures.wait_worst))
    }),
    ("failures", |of| value(of, |of| whole(of.figures.refused))),
];

fn hand_overs(of: &Outcome) -> f64 {
    if of.is_one_lock {
        of.figures.switches_per_second
    } else {
        f64::NAN
    }
}

/// Measures pairs of each system, side by side.
pub(crate) fn peers(plan: &Plan, nodes: &Nodes, report: &mut Report) {
    let runtime = Runtime::new().expect("a tokio runtime");
    let servers = runtime.block_on(Servers::start(nodes));
    let mut seats = SYSTEMS.map(|system| Seat::start(plan, system, &servers));
    for case in [&ONE, &SIXTEEN, &HOT] {
        measure(plan, case, &mut seats, &servers, report);
    }
    look_behind(&runtime, nodes, report);
    // The last one, which is no first choice of any client.
    nodes[2].freeze();
    if let Ok(etcd) = &servers.etcd {
        etcd.follower().freeze();
    }
    measure(plan, &FROZEN, &mut seats, &servers, report);
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
            kill_leader(runtime.block_on(etcd.leader()), &mut seats);
        }
    }
    measure(plan, &KILLED, &mut seats, &servers, report);
}

/// A system with its programs. There are none after one did not answer.
struct Seat {
    system: &'static str,
    is_installed: bool,
    programs: Vec<Program>,
}

impl Seat {
    fn start(plan: &Plan, system: &'static str, servers: &Servers<'_>) -> Self {
        let started: Result<_, _> = (0..2).map(|_| servers.client(system)).collect();
        let is_installed = started.is_ok();
        let programs = started.unwrap_or_else(|why| {
            println!("not run: {system}: {why}");
            Vec::new()
        });
        let mut seat = Self {
            system,
            is_installed,
            programs,
        };
        seat.take_turn(&WARM_UP, Window::after(Duration::ZERO, plan.run / 2), START);
        seat
    }

    /// Takes one turn; `None` if a program does not answer within `patience` after its end.
    fn take_turn(&mut self, case: &Case, window: Window, patience: Duration) -> Option<Outcome> {
        let name = self.system.replace([' ', ','], "");
        let key = format!("{PREFIX}{name}:{}", window.begin);
        let own = if case.is_own { "own" } else { "one" };
        let programs = self.programs.get_mut(..case.crowds.len())?;
        for (program, callers) in programs.iter_mut().zip(case.crowds) {
            program.send(format!("measure {key} {own} {callers} {}", window.end));
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
            // A late answer would come in the middle of another turn.
            self.programs.clear();
        }
        let logs = answers?.into_iter().enumerate();
        let logs: Vec<Log> = logs
            .map(|(process, answer)| log(process, answer, case.is_own))
            .collect();
        let turn = Turn {
            kind: Kind::Ours,
            key,
            lock: Lock::Plain,
            crowds: case.crowds.to_vec(),
            hold: Duration::ZERO,
            pause: Duration::ZERO,
            retry_delay: Duration::ZERO,
            window,
        };
        Some(Outcome {
            is_one_lock: !case.is_own,
            figures: Figures::of(&turn, &logs, 0),
            first_failure: logs.into_iter().find_map(|log| log.first_error),
        })
    }
}

/// Returns the log of a process. Locks of callers' own are told apart as permits are.
fn log(process: usize, answer: Measured, is_own: bool) -> Log {
    let calls = answer.calls.into_iter();
    let holds = calls.map(|(task, asked, acquired, releasing, released)| Hold {
        task,
        permit: match u16::try_from(100 * process + task) {
            Ok(number) if is_own => number,
            _ => 0,
        },
        asked,
        acquired,
        releasing,
        released,
    });
    Log {
        holds: holds.collect(),
        refused: answer.failures,
        first_error: answer.first_failure,
        ..Log::default()
    }
}

/// Starts the programs again that were ended because they did not answer.
fn start_again(plan: &Plan, seats: &mut [Seat], servers: &Servers<'_>) {
    for seat in seats {
        if seat.programs.is_empty() && seat.is_installed {
            *seat = Seat::start(plan, seat.system, servers);
        }
    }
}

/// Gives each system its turns in a case, side by side. A program that did not answer is there again in the next round,
/// unless a node hangs.
fn measure(
    plan: &Plan,
    case: &Case,
    seats: &mut [Seat],
    servers: &Servers<'_>,
    report: &mut Report,
) {
    let run = if case.is_long {
        plan.held
    } else {
        plan.run / 2
    };
    let mut rounds: Vec<Vec<Turned>> = seats.iter().map(|_| Vec::new()).collect();
    for round in 0..plan.rounds {
        if case.name != FROZEN.name {
            start_again(plan, seats, servers);
        }
        for place in in_turn(seats.len(), round) {
            let window = Window::after(plan.warm_up + Duration::from_millis(2), run);
            rounds[place].push(seats[place].take_turn(case, window, PATIENCE));
        }
    }
    for (seat, rounds) in seats.iter().zip(&rounds) {
        let is_healthy = case.name != FROZEN.name && case.name != KILLED.name;
        if seat.is_installed && (is_healthy || !has_one_server(seat.system)) {
            note(case, seat.system, rounds, report);
        }
    }
}

fn note(case: &Case, system: &str, rounds: &[Turned], report: &mut Report) {
    let who = format!("{}, {system}", case.name);
    let is_ours = system.starts_with("redlock");
    for outcome in rounds {
        let Some(Outcome {
            figures,
            first_failure,
            ..
        }) = outcome
        else {
            if is_ours {
                report.problem(format!("{who}: no answer"));
            } else {
                println!("{who}: no answer");
            }
            continue;
        };
        report.count(figures.acquisitions);
        for problem in &figures.problems {
            report.problem(format!("{who}: {problem}"));
        }
        if let Some(first) = first_failure {
            let text = format!("{who}: {} pairs failed, first: {first}", figures.refused);
            if is_ours {
                report.problem(text);
            } else {
                println!("{text}");
            }
        }
    }
    report.add(case.name, system, &FIGURES, rounds);
}

/// Kills etcd's leader in the middle of a turn. The longest pair waited for the election of another leader.
fn kill_leader(leader: &Service, seats: &mut [Seat]) {
    let seat = seats.iter_mut().find(|seat| seat.system == "etcd");
    let killed = thread::scope(|scope| {
        scope.spawn(|| {
            thread::sleep(ELECTION / 4);
            leader.kill();
        });
        seat?.take_turn(&ONE, Window::after(Duration::ZERO, ELECTION), PATIENCE)
    });
    if let Some(Outcome { figures, .. }) = killed {
        let longest = millis(figures.pair_worst);
        println!(
            "etcd: the longest pair around its leader's death took {longest:.0} ms, and {} failed",
            figures.refused
        );
    }
}

/// Prints the locks that are left on the nodes. Ours may leave none.
fn look_behind(runtime: &Runtime, nodes: &Nodes, report: &mut Report) {
    let left = runtime.block_on(keys_left(nodes));
    let (ours, others): (Vec<_>, Vec<_>) = left
        .into_iter()
        .partition(|key| key.contains("bench:redlock"));
    report.left_behind("all cases", &ours);
    if let Some(first) = others.first() {
        println!("{} locks were left on a node, first: {first}", others.len());
    }
}
