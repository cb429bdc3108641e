//! What the example measures is what the guide's page says.

use crate::examples::STORY;
use crate::services::LONG;
use redlock_tests::Service;
use std::path::Path;

#[tokio::test]
async fn each_generation_of_the_lock_survives_what_the_guide_says() {
    let program = Service::build_example("lock_history").await;
    let history = Service::spawn(program, [("", ""); 0], "The faults:").await;
    assert!(history.wait(STORY).await.success(), "{history}");
    // The last line: what was said before is there by then.
    history.wait_for_line("undone: ", LONG).await;
    let said = history.output();

    let measured = table(&said);
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
