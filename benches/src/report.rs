//! What all runs found, as tables and as JSON.

use std::fmt::Write as _;
use std::path::Path;

use redlock_tests::Nodes;
use serde_json::{Value, json};

use crate::load::Sample;
use crate::plan::{Mode, Plan};
use crate::stats::{Spread, micros};

/// Collects what the groups print and measure, and whether every lock was one.
#[derive(Debug)]
pub struct Report {
    mode: Mode,
    json: Value,
    pairs: usize,
    problems: Vec<String>,
}

impl Report {
    /// Prints what is measured on what.
    pub fn begin(plan: &Plan, nodes: &Nodes) -> Self {
        let server = nodes[0].info("redis_version").unwrap_or_default();
        let mut report = Self::new(plan, &format!(", redis-server {server}"));
        report.json["redis_version"] = json!(server);
        report
    }

    /// The same for what needs no servers.
    pub fn begin_in_process(plan: &Plan) -> Self {
        Self::new(plan, "")
    }

    fn new(plan: &Plan, servers: &str) -> Self {
        let cores = std::thread::available_parallelism().map_or(0, usize::from);
        println!(
            "\n{} rounds of {} ms after {} ms of warm-up; {cores} cores{servers}{}",
            plan.rounds,
            plan.run.as_millis(),
            plan.warm_up.as_millis(),
            match plan.mode {
                Mode::Smoke => "; a smoke run, whose figures mean nothing",
                Mode::Short | Mode::Full => "",
            },
        );
        let json = json!({
            "rounds": plan.rounds,
            "run_ms": u64::try_from(plan.run.as_millis()).unwrap_or(u64::MAX),
            "cores": cores,
            "results": [],
        });
        Self {
            mode: plan.mode,
            json,
            pairs: 0,
            problems: Vec::new(),
        }
    }

    /// Adds a contender's samples in one case, one a round, to the JSON; notes what went wrong.
    pub fn add(&mut self, case: &str, who: &str, samples: &[Sample]) {
        for sample in samples {
            self.pairs += sample.pairs;
            if sample.failures > 0 {
                let first = sample.first_failure.as_deref().unwrap_or_default();
                let count = sample.failures;
                self.problem(format!(
                    "{case}, {who}: {count} pairs failed, first: {first}"
                ));
            }
            if !sample.left_behind.is_empty() {
                let count = sample.left_behind.len();
                let first = &sample.left_behind[0];
                self.problem(format!("{case}, {who}: {count} keys left, first: {first}"));
            }
        }
        let rounds: Vec<Value> = samples.iter().map(sample_as_json).collect();
        self.result(json!({ "case": case, "who": who, "rounds": rounds }));
    }

    /// Adds a result of another kind to the JSON.
    pub fn result(&mut self, result: Value) {
        if let Some(results) = self.json["results"].as_array_mut() {
            results.push(result);
        }
    }

    /// Says whether a case met an aim, unless the figures mean nothing anyway. Missing one is no
    /// failure: a busy machine is enough for that.
    pub fn judge(&mut self, case: &str, aim: &str, is_met: bool) {
        if self.mode == Mode::Smoke {
            return;
        }
        println!(
            "  {} {case}: {aim}",
            if is_met { "met   " } else { "MISSED" }
        );
        self.result(json!({ "case": case, "aim": aim, "is_met": is_met }));
    }

    /// Adds to the number of pairs that the report is about.
    pub fn count(&mut self, pairs: u32) {
        self.pairs += usize::try_from(pairs).unwrap_or(0);
    }

    /// Notes that a case left so many keys on the nodes.
    pub fn left_behind(&mut self, case: &str, keys: usize) {
        if keys > 0 {
            self.problem(format!("{case}: {keys} keys left"));
        }
    }

    fn problem(&mut self, problem: String) {
        println!("  PROBLEM  {problem}");
        self.problems.push(problem);
    }

    /// Writes the JSON into `directory` and says whether every pair locked and cleaned up.
    ///
    /// # Panics
    /// Where one did not: the figures then compare nothing.
    pub fn finish(self, name: &str, directory: &Path) {
        let mut text = format!("\n{} pairs measured; ", self.pairs);
        let _ = match self.problems.len() {
            0 => write!(text, "none failed, and no key was left on any node"),
            count => write!(text, "{count} PROBLEMS:\n  {}", self.problems.join("\n  ")),
        };
        println!("{text}");
        let file = directory.join(format!("redlock-{name}.json"));
        match std::fs::write(&file, format!("{:#}\n", self.json)) {
            Ok(()) => println!("all figures: {}", file.display()),
            Err(error) => println!("could not write {}: {error}", file.display()),
        }
        assert!(self.problems.is_empty(), "a lock failed; see above");
    }
}

fn sample_as_json(sample: &Sample) -> Value {
    json!({
        "pairs": sample.pairs,
        "pairs_per_second": sample.pairs_per_second,
        "p50_us": micros(sample.p50),
        "p99_us": micros(sample.p99),
        "worst_us": micros(sample.worst),
        "cpu_us_a_pair": micros(sample.cpu_a_pair),
        "unconfirmed": sample.unconfirmed,
        "failures": sample.failures,
        "keys_left": sample.left_behind.len(),
    })
}

/// A figure of each sample.
pub(crate) fn each(samples: &[Sample], figure: impl Fn(&Sample) -> f64) -> Vec<f64> {
    samples.iter().map(figure).collect()
}

/// The median of a figure over the rounds, as a whole number.
pub(crate) fn median(samples: &[Sample], figure: impl Fn(&Sample) -> f64) -> String {
    format!("{:.0}", Spread::of(each(samples, figure)).median)
}

/// The heading of [`trouble`].
pub(crate) const TROUBLE: &str = "failed, unconfirmed, left";

/// How many pairs failed and how many releases were not confirmed in time, and how many keys were
/// left on the nodes.
pub(crate) fn trouble(samples: &[Sample]) -> String {
    let sum = |count: fn(&Sample) -> usize| samples.iter().map(count).sum::<usize>();
    let failed = sum(|sample| sample.failures);
    let unconfirmed = sum(|sample| sample.unconfirmed);
    let left = sum(|sample| sample.left_behind.len());
    format!("{failed}, {unconfirmed}, {left}")
}
