//! Each row of the guide's table names the test that shows it.

use std::collections::BTreeSet;
use std::process::Command;

const PAGE: &str = include_str!("../../../redlock-runtime/guide/reference/neighbours.md");

/// The tests of this program.
fn tests() -> BTreeSet<String> {
    let this = std::env::current_exe().expect("this program");
    let listed = Command::new(this)
        .args(["--list", "--format=terse"])
        .output();
    let listed = String::from_utf8(listed.expect("it runs").stdout).expect("names");
    let names = listed
        .lines()
        .filter_map(|line| line.strip_suffix(": test"));
    names.map(str::to_owned).collect()
}

/// The rows of the page's tables, without their heads.
fn rows() -> Vec<Vec<String>> {
    let lines = PAGE.lines().filter(|line| line.starts_with('|'));
    let rows = lines.map(|line| {
        let cells = line.trim_matches('|').split(" | ");
        cells.map(|cell| cell.trim().to_owned()).collect::<Vec<_>>()
    });
    let is_head = |row: &Vec<String>| row[0] == "client" || row[0].starts_with("---");
    rows.filter(|row| !is_head(row)).collect()
}

fn quoted(cell: &str) -> Vec<String> {
    cell.split('`')
        .skip(1)
        .step_by(2)
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_row_names_tests_that_are_there() {
    let tests = tests();
    assert!(tests.len() > 40, "{tests:?}");
    let mut shown = BTreeSet::new();
    for row in rows() {
        assert_eq!(row.len(), 6, "{row:?}");
        let names = quoted(&row[5]);
        assert!(!names.is_empty(), "{}: no test", row[0]);
        for name in names {
            let of_module = format!("{name}::");
            let is_there = |test: &String| *test == name || test.starts_with(&of_module);
            assert!(tests.iter().any(is_there), "{}: no test `{name}`", row[0]);
            shown.insert(name);
        }
    }
    // Nor is there a test that no row names.
    for test in &tests {
        let is_named = |name: &String| test == name || test.starts_with(&format!("{name}::"));
        assert!(
            test.starts_with("table::")
                || test.starts_with("asked::")
                || shown.iter().any(is_named),
            "no row names `{test}`"
        );
    }
}

#[test]
fn every_client_that_is_run_has_a_row() {
    let rows = rows();
    for name in [
        "redlock",
        "@sesamecare-oss/redlock",
        "redis-py",
        "pottery",
        "python-redis-lock",
        "aioredlock",
        "rslock",
    ] {
        let names = format!("`{name}`");
        assert!(rows.iter().any(|row| row[0].contains(&names)), "{name}");
    }
}
