//! The document with the tables of all groups, made from the files of the results.
//!
//! Each program measures some of the groups and rewrites the whole document. So it does not matter in which
//! order the programs run, or whether only one runs.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::group::Group;
use crate::table::Table;

const BEGIN: &str = "<!-- written by the benchmarks, from here on -->\n";
const END: &str = "<!-- up to here -->\n";

/// Writes the tables between the markers of the `RESULTS.md` beside `directory`, or, where there is
/// none, into a file of their own. Returns which file it was.
pub(super) fn rewrite(directory: &Path) -> io::Result<PathBuf> {
    let beside = directory.parent().map(|parent| parent.join("RESULTS.md"));
    if let Some(file) = beside
        && let Ok(text) = fs::read_to_string(&file)
        && let Some(text) = between_markers(&text, |plots| tables(directory, plots), directory)
    {
        fs::write(&file, text)?;
        return Ok(file);
    }
    let file = directory.join("tables.md");
    fs::write(&file, tables(directory, ""))?;
    Ok(file)
}

/// `text` with another middle, if it has the markers.
fn between_markers(
    text: &str,
    middle: impl FnOnce(&str) -> String,
    directory: &Path,
) -> Option<String> {
    let (before, rest) = text.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    let plots = format!("{}/", directory.file_name()?.to_str()?);
    Some(format!("{before}{BEGIN}\n{}{END}{after}", middle(&plots)))
}

fn tables(directory: &Path, plots: &str) -> String {
    let mut text = String::new();
    for group in Group::ALL {
        let file = directory.join(format!("{}.json", group.name()));
        let Ok(json) = fs::read_to_string(file) else {
            continue;
        };
        if let Ok(results) = serde_json::from_str(&json) {
            text += &section(group, &results, plots);
        }
    }
    text
}

fn section(group: Group, results: &Value, plots: &str) -> String {
    let about = &results["about"];
    let word = |key: &str| about[key].as_str().unwrap_or_default();
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    let mut text = format!("### {}\n\n", group.title());
    let server = match word("redis_server") {
        "" => String::new(),
        version => format!(", redis-server {version}"),
    };
    let _ = writeln!(
        text,
        "Rounds: {} ({} run of {}, {} pairs). On: {}, {} cores, {}{server}.\n",
        number(&about["rounds"]),
        word("mode"),
        word("date"),
        number(&results["pairs"]),
        word("processor"),
        number(&about["cores"]),
        word("kernel"),
    );
    for problem in results["problems"].as_array().into_iter().flatten() {
        let _ = writeln!(
            text,
            "**PROBLEM**: {}\n",
            problem.as_str().unwrap_or_default()
        );
    }
    for plot in results["plots"].as_array().into_iter().flatten() {
        let part = |key: &str| plot[key].as_str().unwrap_or_default();
        let _ = writeln!(text, "![{}]({plots}{})\n", part("title"), part("file"));
    }
    for table in results["tables"].as_array().into_iter().flatten() {
        if let Ok(table) = serde_json::from_value::<Table>(table.clone()) {
            let _ = writeln!(text, "{}", table.markdown());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_between_the_markers_changes() {
        let text = format!("before\n{BEGIN}old\n{END}after\n");
        let new = between_markers(
            &text,
            |plots| format!("{plots}x.svg\n"),
            "a/results".as_ref(),
        );
        let expected = format!("before\n{BEGIN}\nresults/x.svg\n{END}after\n");
        assert_eq!(new, Some(expected));
        assert_eq!(
            between_markers("no markers", |_| String::new(), "a".as_ref()),
            None
        );
    }
}
