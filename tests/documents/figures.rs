//! Figures in documents, and where each was measured.
//!
//! A comment right behind a figure names its source in `benches/results`:
//!
//! ```text
//! 17.1×<!-- figure: hot-key; 1 process × 64 tasks; acquisitions_per_second; redlock / rslock, 20 ms -->
//! ```
//!
//! These are the group, which is the file's name, the case, the figure and the contender, as the results
//! have them. The figure is the median of all rounds. With two contenders and a `/` between them it is the
//! median of each round's ratio, as in `benches/RESULTS.md`. The document says with how many decimals, and
//! in which unit, the figure is shown. In brackets behind it may be the smallest and the largest of all
//! rounds: `17.1 times (12.2–19.1)`, and then the comment. The paragraph says the date of a figure if others were
//! measured later.

use std::ops::Range;

use pulldown_cmark::{Event, Tag, TagEnd};

use crate::markdown::{events, line_of};
use crate::results::{Results, seconds_of};

/// A figure as a document shows it.
struct Figure<'a> {
    number: &'a str,
    unit: &'a str,
    /// The smallest and the largest.
    spread: Option<(&'a str, &'a str)>,
}

impl<'a> Figure<'a> {
    /// The figure that ends `text`, and what is before it.
    fn at_the_end_of(text: &'a str) -> Option<(&'a str, Self)> {
        let mut rest = text.trim_end();
        let mut spread = None;
        if let Some((before, range)) = rest.strip_suffix(')').and_then(|it| it.rsplit_once('(')) {
            spread = Some(range.split_once('–')?);
            rest = before;
        }
        let (before, number, unit) = last_number(rest)?;
        let unit = unit.trim();
        Some((
            before,
            Self {
                number,
                unit,
                spread,
            },
        ))
    }

    /// In what it differs from the figure of `source`.
    fn difference(&self, source: &str, results: &Results) -> Result<(), String> {
        let (mut values, own) = results.look_up(source)?;
        values.sort_by(f64::total_cmp);
        let scale = match (self.unit, own, seconds_of(self.unit)) {
            ("" | "×" | "times", ..) => 1.0,
            ("k", None, _) => 1e-3,
            ("M", None, _) => 1e-6,
            ("%", ..) if source.contains("percent_") => 1.0,
            ("%", None, _) => 100.0,
            (_, Some(own), Some(shown)) => own / shown,
            _ => return Err(format!("the figure cannot be shown in `{}`", self.unit)),
        };
        let (low, high) = (values.len() - 1, values.len());
        let median = f64::midpoint(values[low / 2], values[high / 2]);
        let mut shown = vec![(self.number, median)];
        if let Some((smallest, largest)) = self.spread {
            shown.extend([(smallest, values[0]), (largest, values[low])]);
        }
        for (number, value) in shown {
            let decimals = number.split_once('.').map_or(0, |(_, part)| part.len());
            let measured = format!("{:.decimals$}", value * scale);
            if measured != number {
                let unit = self.unit;
                return Err(format!("`{number} {unit}` was measured as {measured}"));
            }
        }
        Ok(())
    }
}

/// What is before the last number of `text`, the number, and what is behind it.
fn last_number(text: &str) -> Option<(&str, &str, &str)> {
    let end = text.rfind(|c: char| c.is_ascii_digit())? + 1;
    let is_of_number = |c: char| c.is_ascii_digit() || c == '.';
    let before = text[..end].trim_end_matches(is_of_number);
    Some((before, &text[before.len()..end], &text[end..]))
}

/// A cell of a table: the place where it begins, and its text without the figures that have a source.
struct Cell {
    offset: usize,
    is_name: bool,
    rest: String,
}

/// What is wrong with the figures of the document at `path` that name their sources: another figure than
/// the measured one; and, if a table has one figure with a source, a figure in it without one.
pub(crate) fn wrong(path: &str, text: &str, results: &Results) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut say = |offset, problem: String| {
        wrong.push(format!("{path}:{}: {problem}", line_of(text, offset)));
    };
    let mut segment = String::new();
    let mut cells: Vec<Cell> = Vec::new();
    let (mut is_sourced, mut column) = (false, 0);
    for (event, range) in events(text) {
        match event {
            Event::Start(Tag::Table(_)) => (is_sourced, cells) = (false, Vec::new()),
            Event::Start(Tag::TableHead | Tag::TableRow) => column = 0,
            Event::Start(Tag::TableCell) => {
                segment.clear();
                cells.push(Cell {
                    offset: range.start,
                    is_name: column == 0,
                    rest: String::new(),
                });
                column += 1;
            }
            Event::End(TagEnd::TableCell) => {
                if let Some(cell) = cells.last_mut() {
                    cell.rest.push_str(&segment);
                }
            }
            // Headings have words.
            Event::End(TagEnd::TableHead) => cells.clear(),
            Event::End(TagEnd::Table) if is_sourced => {
                let has_figure = |cell: &&Cell| cell.rest.contains(|c: char| c.is_ascii_digit());
                for cell in cells.iter().filter(|cell| !cell.is_name).filter(has_figure) {
                    let rest = cell.rest.trim();
                    say(
                        cell.offset,
                        format!("`{rest}` has a figure without a source"),
                    );
                }
            }
            Event::Start(Tag::Paragraph | Tag::Item | Tag::Heading { .. }) => segment.clear(),
            Event::Text(part) | Event::Code(part) => segment.push_str(&part),
            Event::SoftBreak => segment.push(' '),
            Event::InlineHtml(html) | Event::Html(html) => {
                let Some(source) = source_of(&html) else {
                    continue;
                };
                is_sourced = true;
                if let Some(date) = results
                    .earlier(source)
                    .filter(|it| !paragraph(text, &range).contains(it))
                {
                    say(
                        range.start,
                        format!("the figure is of {date}, which the paragraph does not say"),
                    );
                }
                if let Some((before, figure)) = Figure::at_the_end_of(&segment) {
                    if let Err(problem) = figure.difference(source, results) {
                        say(range.start, problem);
                    }
                    if let Some(cell) = cells.last_mut() {
                        cell.rest.push_str(before);
                    }
                } else {
                    let problem = "there is no figure before its source";
                    say(range.start, problem.to_owned());
                }
                segment.clear();
            }
            _ => {}
        }
    }
    wrong
}

/// The paragraph around a place.
fn paragraph<'a>(text: &'a str, place: &Range<usize>) -> &'a str {
    let (before, after) = (&text[..place.start], &text[place.start..]);
    let begin = before.rfind("\n\n").unwrap_or_default();
    let end = after
        .find("\n\n")
        .map_or(text.len(), |end| place.start + end);
    &text[begin..end]
}

fn source_of(html: &str) -> Option<&str> {
    let source = html.trim().strip_prefix("<!-- figure:")?;
    Some(source.strip_suffix("-->")?.trim())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TASKS: &str = "hot-key; 64 tasks; acquisitions_per_second";

    fn results() -> Results {
        let figure = |name: &str, who: &str, rounds: [f64; 3]| json!({ "case": "64 tasks", "name": name, "who": who, "rounds": rounds });
        let mut results = Results::default();
        results.add(
            &json!({ "group": "hot-key", "about": { "date": "2026-11-22" }, "figures": [
            figure("acquisitions_per_second", "redlock", [58_000.0, 58_965.0, 70_000.0]),
            figure("acquisitions_per_second", "rslock, 20 ms", [4_100.0, 3_000.0, 3_500.0]),
            figure("wait_p50_ms", "redlock", [1.02, 1.04, 0.9]),
            figure("handed_over", "redlock", [0.98, 0.975, 0.981]),
            figure("percent_of_a_core", "redlock", [0.52, 0.52, 0.52]),
        ] }),
        );
        results
    }

    fn found(text: &str) -> Vec<String> {
        wrong("README.md", text, &results())
    }

    #[test]
    fn another_figure_than_the_measured_one_is_found() {
        let text = format!(
            "59 k<!-- figure: {TASKS}; redlock -->\n60 k<!-- figure: {TASKS}; redlock -->\n\
             17×<!-- figure: {TASKS}; redlock / rslock, 20 ms -->\n\n\
             none<!-- figure: {TASKS}; redlock -->\n\n59 ms<!-- figure: {TASKS}; redlock -->\n\
             59<!-- figure: {TASKS}; etcd -->\n59<!-- figure: redlock -->\n\
             20 times (14–21)<!-- figure: {TASKS}; redlock / rslock, 20 ms -->\n"
        );
        let expected = [
            "README.md:2: `60 k` was measured as 59",
            "README.md:3: `17 ×` was measured as 20",
            "README.md:5: there is no figure before its source",
            "README.md:7: the figure cannot be shown in `ms`",
            "README.md:8: there is no result `hot-key; 64 tasks; acquisitions_per_second; etcd`",
            "README.md:9: a source is `group; case; figure; contender`",
            "README.md:10: `21 times` was measured as 20",
        ];
        assert_eq!(found(&text), expected);
    }

    #[test]
    fn an_older_figure_without_its_date_is_found() {
        let mut results = results();
        results.add(&json!({ "group": "peers", "about": { "date": "2026-11-23" }, "figures": [] }));
        let text = format!(
            "59 k<!-- figure: {TASKS}; redlock -->\n\n2026-11-22: 59 k<!-- figure: {TASKS}; redlock -->"
        );
        let expected = "README.md:1: the figure is of 2026-11-22, which the paragraph does not say";
        assert_eq!(wrong("README.md", &text, &results), [expected]);
    }

    #[test]
    fn in_a_table_with_sources_every_figure_has_one() {
        let source = format!("<!-- figure: {TASKS}; redlock -->");
        let text = format!(
            "| 1 | 2 |\n|---|--:|\n| 64 tasks | 59 k{source} |\n| 3 | 17 |\n| 4 | 8 of 59 k{source} |\n\n\
             | 1 | 2 |\n|---|--:|\n| ttl | 60 |\n"
        );
        let expected = [
            "README.md:4: `17` has a figure without a source",
            "README.md:5: `8 of` has a figure without a source",
        ];
        assert_eq!(found(&text), expected);
    }
}
