//! What the example measures is what the guide's page says.

use crate::services::{LONG, STORY};
use redlock_tests::Service;
use std::path::Path;

/// Head of a row, head of a column, and the cell that must be there.
const FACTS: [(&str, &str, &str); 24] = [
    ("`SETNX`, then `EXPIRE`", "crash", "stuck"),
    ("`SETNX`, then `EXPIRE`", "failed body", "waits"),
    ("`SETNX` and `GETSET` of timestamps", "crash", "ok"),
    (
        "`SETNX` and `GETSET` of timestamps",
        "refused caller",
        "pushed, livelock",
    ),
    ("`SETNX` and `GETSET` of timestamps", "equal times", "ok"),
    ("`SET NX PX`, then `DEL`", "crash", "ok"),
    ("`SET NX PX`, then `DEL`", "failed body", "waits"),
    ("`SET NX PX`, then `DEL`", "long body", "A+B, B+C"),
    ("the same, `DEL` in `finally`", "failed body", "ok"),
    ("the same, `DEL` in `finally`", "refused caller", "B+D"),
    ("`SETNX` and `EXPIRE` in a script", "crash", "ok"),
    ("`SETNX` and `EXPIRE` in a script", "long body", "A+B, B+C"),
    ("a timestamp as the value", "long body", "A+B"),
    ("a timestamp as the value", "equal times", "B+C"),
    ("a unique value, compare and delete", "equal times", "–"),
    ("a unique value, compare and delete", "failover", "–"),
    ("a unique value, compare and delete", "node dead", "down"),
    ("the same with a replica", "failover", "A+B"),
    ("the same with a replica", "node dead", "ok"),
    ("Redlock without a restart check", "node empty", "A+B"),
    ("Redlock", "failover", "ok"),
    ("Redlock", "node empty", "ok"),
    ("Redlock", "pause", "undone"),
    ("Redlock with fencing", "pause", "ok"),
];

#[tokio::test]
async fn each_generation_of_the_lock_survives_what_the_guide_says() {
    let program = Service::build_example("lock_history").await;
    let history = Service::spawn(program, [("", ""); 0], "The faults:").await;
    assert!(history.wait(STORY).await.success(), "{history}");
    // The last line: what was said before is there by then.
    history.wait_for_line("undone: ", LONG).await;
    let said = history.output();

    let measured = table(&said);
    for (row, column, expected) in FACTS {
        assert_eq!(
            cell(&measured, row, column),
            expected,
            "{row}, {column}: {said}"
        );
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../redlock-runtime/guide/understand/history.md");
    let page = std::fs::read_to_string(page).expect("the guide's page");
    assert_eq!(table(&page), measured, "the guide's page and {said}");
}

/// The first table in `text`, without its line of dashes: a row a line, a cell an entry.
fn table(text: &str) -> Vec<Vec<String>> {
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("| | crash"));
    let lines = lines.take_while(|line| line.starts_with('|'));
    let rows = lines.filter(|line| !line.starts_with("|---"));
    let cells = rows.map(|line| {
        line.trim_matches('|')
            .split('|')
            .map(|it| it.trim().to_owned())
    });
    let table: Vec<_> = cells.map(Iterator::collect::<Vec<_>>).collect();
    assert!(table.len() > 1, "no table in {text}");
    table
}

fn cell<'a>(table: &'a [Vec<String>], row: &str, column: &str) -> &'a str {
    let at = table[0].iter().position(|head| head == column);
    let at = at.unwrap_or_else(|| panic!("no column {column}: {table:?}"));
    let cells = table.iter().find(|cells| cells[0] == row);
    &cells.unwrap_or_else(|| panic!("no row {row}: {table:?}"))[at]
}
