//! Two checkouts of the library in one interleaved run, for `scripts/pair`.
//!
//! Both probes take short turns on the same servers, in alternating order. Plain sockets have a turn after each of
//! them. If the sockets are slow in a round, the machine was slow, and the round is set aside.

mod probe;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use redlock_tests::{NodeOptions, Nodes, RedisNode};
use tokio::runtime::Runtime;

use crate::contended::Worker;
use crate::contender::{RawLoop, in_turn};
use crate::load::{Load, keys_left};
use crate::stats::{Spread, brief, median_interval, whole};
use crate::table::Table;
use probe::{Answer, Probe};

/// The checkouts, as the table names them.
const SIDES: [&str; 2] = ["base", "other"];

/// Each case, as the tables name it and as a probe is told.
const CASES: [(&str, &str); 6] = [
    ("1 caller", "1"),
    ("16 callers", "16"),
    ("128 callers", "128"),
    ("1 caller, current_thread", "1 current_thread"),
    ("16 callers, hot key", "16 hot"),
    ("1 caller, fenced", "1 fenced"),
];

/// The turn of the plain sockets, which one caller has.
const RAW: Load = Load {
    callers: 1,
    warm_up: Duration::ZERO,
    run: Duration::from_millis(10),
};

/// The turns of each probe in a round. The shorter they are, the more do both meet the same machine.
const TURNS: usize = 4;

/// The part of their usual rate that plain sockets have to reach in a round.
const UNDISTURBED: f64 = 0.75;

/// The number of counts of allocations and of instructions.
const COUNTS: usize = 3;

/// Two checkouts, and how they are compared.
#[derive(Clone, Debug)]
pub struct Pairing {
    /// The checkouts; the ratio is that of the second one by the first one.
    pub checkouts: [PathBuf; 2],
    /// The folder of the probe for a checkout that carries none.
    pub probe: PathBuf,
    /// Only the cases whose name contains this.
    pub case: String,
    /// The number of rounds of each case.
    pub rounds: usize,
    /// The length of a turn.
    pub turn: Duration,
}

/// The turns of both probes, and those of the plain sockets between them.
struct Round {
    /// The pairs a second of each probe.
    rates: [f64; 2],
    /// Those of the plain sockets.
    raw: f64,
}

impl Pairing {
    /// Builds both probes, lets them take turns, and tells what was found.
    pub fn run(&self) -> Table {
        let probes =
            [0, 1].map(|side| Probe::build(SIDES[side], &self.checkouts[side], &self.probe));
        let nodes: Nodes = (0..3)
            .map(|_| RedisNode::start_blocking(NodeOptions::default()))
            .collect();
        let cases = self.take_turns(&probes, &nodes.urls());
        let table = self.table(&probes, &nodes.urls(), &cases);
        let runtime = Runtime::new().expect("a tokio runtime");
        let left = runtime.block_on(keys_left(&nodes));
        assert!(left.is_empty(), "left on the nodes: {left:?}");
        table
    }

    fn cases(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        CASES
            .into_iter()
            .filter(|(name, _)| name.contains(&self.case))
    }

    fn order(&self, turns: u32, callers: &str) -> String {
        format!("{} {callers}", (turns * self.turn).as_millis())
    }

    fn table(&self, probes: &[Probe; 2], urls: &[String], cases: &[Vec<Round>]) -> Table {
        let [base, other] = SIDES;
        let ratio = format!("{other} / {base} (95 %)");
        let mut table = Table::new([
            "pairs a second",
            base,
            other,
            &ratio,
            "rounds",
            "allocations a pair",
            "instructions a pair",
        ]);
        let usual = usual(cases.iter().flatten());
        for ((name, callers), rounds) in self.cases().zip(cases) {
            let kept = undisturbed(rounds, usual);
            let [base, other] = [0, 1].map(|side| {
                let rates = kept.iter().map(|round| round.rates[side]);
                Spread::of_any(rates).map_or_else(dash, |rates| brief(rates.median))
            });
            let order = self.order(8, callers);
            let allocations = counted(probes, |probe| probe.allocations(urls, &order));
            let order = self.order(40, callers);
            let instructions = counted(probes, |probe| probe.instructions(urls, &order));
            table.row([
                name.to_owned(),
                base,
                other,
                ratio_of(&kept),
                format!("{} of {}", kept.len(), rounds.len()),
                allocations.expect("a probe that counts"),
                instructions.unwrap_or_else(|| "Valgrind does not run it".to_owned()),
            ]);
        }
        for (side, checkout) in SIDES.iter().zip(&self.checkouts) {
            table.note(format!("{side}: {}", described(checkout)));
        }
        table.note(format!(
            "a round counts if plain sockets reached {:.0} % of their usual {} pairs a second in it",
            UNDISTURBED * 100.0,
            brief(usual)
        ));
        table
    }

    /// Returns the rounds of each case.
    fn take_turns(&self, probes: &[Probe; 2], urls: &[String]) -> Vec<Vec<Round>> {
        let mut raw = RawLoop::connect(urls, &RAW.keys("raw"));
        let mut raw_rate = || {
            let sample = RAW.drive_raw(&mut raw);
            assert_eq!(sample.first_failure, None);
            sample.pairs_per_second
        };
        let mut cases: Vec<_> = self.cases().map(|_| Vec::new()).collect();
        for round in 0..self.rounds {
            // A process may be fast or slow for as long as it lives.
            let mut workers = probes
                .each_ref()
                .map(|probe| start(probe, urls, &self.order(1, "1")));
            for ((_, callers), rounds) in self.cases().zip(&mut cases) {
                let mut taken = Round {
                    rates: [0.0; 2],
                    raw: 0.0,
                };
                for turn in round * TURNS..(round + 1) * TURNS {
                    for side in in_turn(2, turn) {
                        let rate = take_turn(&mut workers[side], &self.order(1, callers));
                        taken.rates[side] += rate / whole(TURNS);
                        taken.raw += raw_rate() / whole(2 * TURNS);
                    }
                }
                rounds.push(taken);
            }
        }
        cases
    }
}

/// Starts the probe, and warms it up by an order.
fn start(probe: &Probe, urls: &[String], order: &str) -> Worker {
    let mut worker = Worker::start(Command::new(&probe.plain).args(urls));
    let _: String = worker.answer();
    take_turn(&mut worker, order);
    worker
}

/// Returns the pairs a second of a turn.
fn take_turn(worker: &mut Worker, order: &str) -> f64 {
    worker.order(&order);
    let [pairs, nanos, _]: Answer = worker.answer();
    pairs / nanos * 1e9
}

/// Returns the rate of plain sockets on a machine with little else to do. A quarter of the rounds had more.
fn usual<'a>(rounds: impl Iterator<Item = &'a Round>) -> f64 {
    let mut rates: Vec<_> = rounds.map(|round| round.raw).collect();
    rates.sort_by(f64::total_cmp);
    rates.get(rates.len() * 3 / 4).copied().unwrap_or_default()
}

/// Sets the rounds aside in which the machine slowed the plain sockets.
fn undisturbed(rounds: &[Round], usual: f64) -> Vec<&Round> {
    let is_kept = |round: &&Round| round.raw >= UNDISTURBED * usual;
    rounds.iter().filter(is_kept).collect()
}

/// Returns the median of the ratios within a round, and its interval.
fn ratio_of(rounds: &[&Round]) -> String {
    let ratios: Vec<_> = rounds
        .iter()
        .map(|round| round.rates[1] / round.rates[0])
        .collect();
    let Some(spread) = Spread::of_any(ratios.iter().copied()) else {
        return dash();
    };
    match median_interval(&ratios) {
        Some((low, high)) => format!("{:.3} ({low:.3}–{high:.3})", spread.median),
        None => format!("{:.3} (too few rounds)", spread.median),
    }
}

/// Returns the median of a count of each probe.
fn counted(probes: &[Probe; 2], count: impl Fn(&Probe) -> Option<f64>) -> Option<String> {
    let [base, other] = probes
        .each_ref()
        .map(|probe| Spread::of_any((0..COUNTS).filter_map(|_| count(probe))));
    Some(format!(
        "{} → {}",
        brief(base?.median),
        brief(other?.median)
    ))
}

/// Returns the path of a checkout and its commit, as far as git tells.
fn described(checkout: &Path) -> String {
    let mut git = Command::new("git");
    git.arg("-C")
        .arg(checkout)
        .args(["describe", "--always", "--dirty"]);
    let commit = git.output().map(|output| output.stdout).unwrap_or_default();
    format!(
        "{} {}",
        checkout.display(),
        String::from_utf8_lossy(&commit).trim()
    )
}

fn dash() -> String {
    "–".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_of_slow_sockets_are_set_aside() {
        let round = |raw| Round {
            rates: [1.0, 2.0],
            raw,
        };
        let rounds = [100.0, 60.0, 102.0, 76.0, 20.0, 98.0, 101.0, 74.0].map(round);
        let usual = usual(rounds.iter());
        assert!((usual - 101.0).abs() < f64::EPSILON);
        let kept = undisturbed(&rounds, usual);
        let raw: Vec<_> = kept.iter().map(|round| round.raw).collect();
        assert_eq!(raw, [100.0, 102.0, 76.0, 98.0, 101.0]);
        assert_eq!(ratio_of(&kept), "2.000 (too few rounds)");
        assert_eq!(ratio_of(&rounds.each_ref()), "2.000 (2.000–2.000)");
    }
}
