//! The files of one group: everything as JSON, its figures as CSV, its plots as SVG.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use serde_json::{Value, json};

use super::Report;

pub(super) fn write(directory: &Path, report: &Report) -> io::Result<()> {
    fs::create_dir_all(directory)?;
    let name = report.group.name();
    fs::write(directory.join(format!("{name}.json")), json(report))?;
    fs::write(directory.join(format!("{name}.csv")), csv(report))?;
    for (name, chart) in &report.charts {
        fs::write(directory.join(format!("{name}.svg")), chart.to_string())?;
    }
    Ok(())
}

/// A line for each entry of a list, so that a change shows where it is.
fn json(report: &Report) -> String {
    let plots: Vec<_> = report
        .charts
        .iter()
        .map(|(name, chart)| json!({ "file": format!("{name}.svg"), "title": chart.title }))
        .collect();
    let parts = [
        ("group", json!(report.group.name())),
        ("title", json!(report.group.title())),
        ("about", report.about.clone()),
        ("pairs", json!(report.pairs)),
        ("problems", json!(report.problems)),
        ("lines", json!(report.lines)),
        ("plots", json!(plots)),
        ("tables", json!(report.tables)),
        ("figures", json!(report.figures)),
    ];
    let parts: Vec<_> = parts
        .iter()
        .map(|(name, value)| {
            let value = match value.as_array() {
                Some(list) if !list.is_empty() => {
                    let entries: Vec<_> = list.iter().map(Value::to_string).collect();
                    format!("[\n{}\n]", entries.join(",\n"))
                }
                _ => value.to_string(),
            };
            format!("\"{name}\": {value}")
        })
        .collect();
    format!("{{\n{}\n}}\n", parts.join(",\n"))
}

/// One value a line: what it is about is repeated, so that any tool can pick and group.
fn csv(report: &Report) -> String {
    let mut text = "group,case,who,figure,round,value\n".to_owned();
    for figure in &report.figures {
        let of = [report.group.name(), &figure.case, &figure.who, &figure.name].map(quoted);
        for (round, value) in figure.rounds.iter().enumerate() {
            let _ = writeln!(text, "{},{round},{value}", of.join(","));
        }
    }
    text
}

fn quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) {
        format!("\"{}\"", cell.replace('"', "\"\""))
    } else {
        cell.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn commas_and_quotes_do_not_end_a_cell() {
        assert_eq!(quoted("16 callers"), "16 callers");
        assert_eq!(quoted("redis, \"all\""), "\"redis, \"\"all\"\"\"");
    }
}
