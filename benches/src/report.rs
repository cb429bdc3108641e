//! The figures of a group, round by round, and the problems that it met.

use std::fmt::Write as _;

use crate::load::Sample;
use crate::stats::{Spread, brief, micros, whole};
use crate::table::Table;

/// A figure of a round, and its name in the results.
pub type Named<S> = (&'static str, fn(&S) -> f64);

/// Collects the figures of one group, and the problems that make its benchmark fail.
#[derive(Debug, Default)]
pub struct Report {
    /// The names of the figures, which all cases of a group have in common.
    figures: Vec<&'static str>,
    rows: Vec<Row>,
    pub(crate) pairs: usize,
    pub(crate) problems: Vec<String>,
}

/// One round of one contender in one case. A figure that the round does not have is no number.
#[derive(Debug)]
struct Row {
    case: String,
    who: String,
    round: usize,
    values: Vec<f64>,
}

impl Report {
    /// Adds the rounds of a contender in one case.
    pub fn add<S>(&mut self, case: &str, who: &str, figures: &[Named<S>], rounds: &[S]) {
        self.figures = figures.iter().map(|(name, _)| *name).collect();
        self.rows
            .extend(rounds.iter().enumerate().map(|(round, found)| Row {
                case: case.to_owned(),
                who: who.to_owned(),
                round,
                values: figures.iter().map(|(_, figure)| figure(found)).collect(),
            }));
    }

    /// Adds a contender's samples in one case, and their problems.
    pub(crate) fn add_samples(&mut self, case: &str, who: &str, samples: &[Sample]) {
        for sample in samples {
            self.pairs += sample.pairs;
            if let Some(first) = &sample.first_failure {
                let count = sample.failures;
                self.problem(format!(
                    "{case}, {who}: {count} pairs failed, first: {first}"
                ));
            }
            self.left_behind(&format!("{case}, {who}"), &sample.left_behind);
        }
        self.add(case, who, &SAMPLE, samples);
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

    /// Notes a problem: the benchmark fails in the end.
    pub fn problem(&mut self, problem: String) {
        println!("  PROBLEM  {problem}");
        self.problems.push(problem);
    }

    /// Returns a table a case: a row a figure, a column a contender, each with its median and range.
    pub(crate) fn tables(&self) -> Vec<Table> {
        let cases = self.rows.chunk_by(|one, other| one.case == other.case);
        cases.map(|rows| self.table(rows)).collect()
    }

    fn table(&self, rows: &[Row]) -> Table {
        let contenders: Vec<_> = rows.chunk_by(|one, other| one.who == other.who).collect();
        let headings = [&rows[0].case].into_iter();
        let mut table = Table::new(headings.chain(contenders.iter().map(|of| &of[0].who)));
        for (place, figure) in self.figures.iter().enumerate() {
            let cells = contenders
                .iter()
                .map(|rounds| shown(rounds.iter().map(|row| row.values[place])));
            table.row([(*figure).to_owned()].into_iter().chain(cells));
        }
        table
    }

    /// Returns a line a round, below the line `about` and the names of the columns.
    pub(crate) fn csv(&self, about: &str) -> String {
        let mut text = format!("# {about}\ncase,who,round,{}\n", self.figures.join(","));
        for row in &self.rows {
            let _ = write!(
                text,
                "{},{},{}",
                quoted(&row.case),
                quoted(&row.who),
                row.round
            );
            for value in &row.values {
                // A thousandth is more than any figure is known to.
                let _ = match (value * 1e3).round() / 1e3 {
                    value if value.is_finite() => write!(text, ",{value}"),
                    _ => write!(text, ","),
                };
            }
            text.push('\n');
        }
        text
    }
}

fn shown(values: impl Iterator<Item = f64>) -> String {
    let spread = Spread::of_any(values.filter(|value| value.is_finite()));
    spread.map_or_else(
        || "–".to_owned(),
        |of| format!("{} ({}–{})", brief(of.median), brief(of.min), brief(of.max)),
    )
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

const SAMPLE: [Named<Sample>; 8] = [
    ("pairs", |of| whole(of.pairs)),
    ("pairs_per_second", |of| of.pairs_per_second),
    ("p50_us", |of| micros(of.p50)),
    ("p99_us", |of| micros(of.p99)),
    ("worst_us", |of| micros(of.worst)),
    ("client_cpu_us_a_pair", |of| micros(of.cpu_a_pair)),
    ("failures", |of| whole(of.failures)),
    ("unconfirmed", |of| whole(of.unconfirmed)),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_round_becomes_a_row() {
        let mut report = Report::default();
        let figures: [Named<[f64; 2]>; 2] = [("a", |of| of[0]), ("b", |of| of[1])];
        report.add(
            "1 node, \"x\"",
            "us",
            &figures,
            &[[1.5, f64::NAN], [2.0, 7.0]],
        );
        let quoted = "\"1 node, \"\"x\"\"\"";
        let expected = format!("# on\ncase,who,round,a,b\n{quoted},us,0,1.5,\n{quoted},us,1,2,7\n");
        assert_eq!(report.csv("on"), expected);
        let table = report.tables()[0].to_string();
        assert!(table.contains("1.75 (1.50–2.00)") && table.contains("7.00 (7.00–7.00)"));
    }
}
