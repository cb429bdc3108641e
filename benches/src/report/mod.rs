//! The report of a group: its tables, figures, plots and errors.

mod document;
mod files;
mod machine;
mod suite;

use serde::Serialize;
use serde_json::{Value, json};

pub use suite::Suite;

use crate::group::Group;
use crate::load::Sample;
use crate::plan::Mode;
use crate::plot::Chart;
use crate::stats::{Spread, micros, whole};
use crate::table::Table;

/// Collects what one group prints and measures, and whether every lock was one.
#[derive(Debug)]
pub struct Report {
    group: Group,
    mode: Mode,
    /// What was measured on what.
    about: Value,
    figures: Vec<Figure>,
    lines: Vec<Value>,
    tables: Vec<Table>,
    charts: Vec<(String, Chart)>,
    pairs: usize,
    problems: Vec<String>,
}

/// One figure of one contender in one case, a value for each round.
#[derive(Clone, Debug, Serialize)]
struct Figure {
    case: String,
    who: String,
    name: String,
    rounds: Vec<f64>,
}

/// What a figure has to reach, or must not exceed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Report {
    fn new(group: Group, mode: Mode, about: Value) -> Self {
        Self {
            group,
            mode,
            about,
            figures: Vec::new(),
            lines: Vec::new(),
            tables: Vec::new(),
            charts: Vec::new(),
            pairs: 0,
            problems: Vec::new(),
        }
    }

    /// Adds a contender's samples in one case, one a round; notes what went wrong.
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
            self.left_behind(&format!("{case}, {who}"), &sample.left_behind);
        }
        for (name, figure) in SAMPLE {
            self.figure(case, who, name, &each(samples, figure));
        }
    }

    /// Adds one figure of a contender in one case, a value for each round.
    pub fn figure(&mut self, case: &str, who: &str, name: &str, rounds: &[f64]) {
        self.figures.push(Figure {
            case: case.to_owned(),
            who: who.to_owned(),
            name: name.to_owned(),
            // Nothing here is known to more than a thousandth.
            rounds: rounds.iter().map(|v| (v * 1e3).round() / 1e3).collect(),
        });
    }

    /// Says under the table whether a case met a line, unless the figures mean nothing anyway.
    /// Missing one is no failure: a busy machine is enough for that.
    pub(crate) fn line(
        &mut self,
        table: &mut Table,
        case: &str,
        what: &str,
        bound: Bound,
        found: f64,
    ) {
        if self.mode == Mode::Smoke {
            return;
        }
        let (sign, limit, is_met) = match bound {
            Bound::AtLeast(limit) => ('≥', limit, found >= limit),
            Bound::AtMost(limit) => ('≤', limit, found <= limit),
        };
        let verdict = if is_met { "met" } else { "missed" };
        // A fraction matters only for a small figure.
        let decimals = if limit >= 100.0 { 0 } else { 2 };
        let shown = if found.is_finite() {
            format!("{found:.decimals$}")
        } else {
            "never".to_owned()
        };
        table.note(format!("line: {what} {sign} {limit}, {verdict}: {shown}"));
        self.lines.push(json!({
            "case": case, "what": what, "bound": format!("{sign} {limit}"),
            "found": found, "is_met": is_met,
        }));
    }

    /// Prints a table and keeps it.
    pub(crate) fn table(&mut self, table: Table) {
        println!("\n{table}");
        self.tables.push(table);
    }

    /// Keeps a table of texts, which is too wide for a terminal.
    pub(crate) fn text(&mut self, table: Table) {
        self.tables.push(table);
    }

    /// Keeps a plot, to be written under this name.
    pub(crate) fn chart(&mut self, name: &str, chart: Chart) {
        self.charts.push((name.to_owned(), chart));
    }

    /// Adds to the number of pairs that the report is about.
    pub fn count(&mut self, pairs: usize) {
        self.pairs += pairs;
    }

    /// Notes the keys that a case left on the nodes.
    pub fn left_behind(&mut self, case: &str, keys: &[String]) {
        if let Some(first) = keys.first() {
            let count = keys.len();
            self.problem(format!("{case}: {count} keys left, first: {first}"));
        }
    }

    /// Notes what no run may have: the benchmark fails in the end.
    pub fn problem(&mut self, problem: String) {
        println!("  PROBLEM  {problem}");
        self.problems.push(problem);
    }
}

/// A figure of what a round found, and its name in the results.
pub(crate) type Named<S> = (&'static str, fn(&S) -> f64);

const SAMPLE: [Named<Sample>; 8] = [
    ("pairs", |sample| whole(sample.pairs)),
    ("pairs_per_second", |sample| sample.pairs_per_second),
    ("p50_us", |sample| micros(sample.p50)),
    ("p99_us", |sample| micros(sample.p99)),
    ("worst_us", |sample| micros(sample.worst)),
    ("client_cpu_us_a_pair", |sample| micros(sample.cpu_a_pair)),
    ("failures", |sample| whole(sample.failures)),
    ("unconfirmed", |sample| whole(sample.unconfirmed)),
];

/// A figure of each sample.
pub(crate) fn each<S>(samples: &[S], figure: impl Fn(&S) -> f64) -> Vec<f64> {
    samples.iter().map(figure).collect()
}

/// The median of a figure over the rounds, as a whole number.
pub(crate) fn median<S>(samples: &[S], figure: impl Fn(&S) -> f64) -> String {
    format!("{:.0}", Spread::of(each(samples, figure)).median)
}

/// The heading of [`trouble`].
pub(crate) const TROUBLE: &str = "failed, unconfirmed, left";

/// How many pairs failed and how many releases were not confirmed in time, and how many keys were left on the nodes.
pub(crate) fn trouble(samples: &[Sample]) -> String {
    let sum = |count: fn(&Sample) -> usize| samples.iter().map(count).sum::<usize>();
    let failed = sum(|sample| sample.failures);
    let unconfirmed = sum(|sample| sample.unconfirmed);
    let left = sum(|sample| sample.left_behind.len());
    format!("{failed}, {unconfirmed}, {left}")
}
