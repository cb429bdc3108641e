//! The example with a Prometheus endpoint: what it exports, what its dashboard asks for and what
//! the guide promises are the same.

use std::collections::BTreeSet;

use crate::examples::assert_end_well;
use crate::services::LONG;
use crate::services::fleet::Fleet;
use redlock_tests::{eventually, http_post, http_request};
use serde_json::Value;

const DASHBOARD: &str = include_str!("../../../examples/grafana.json");
const PAGE: &str = include_str!("../../../redlock-runtime/guide/reference/metrics.md");

type Names = BTreeSet<String>;

/// What is called `redlock_…` in an expression.
fn names_in(expression: &str) -> impl Iterator<Item = String> + '_ {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words
        .filter(|word| word.starts_with("redlock_"))
        .map(|word| word.trim_end_matches("_bucket").to_owned())
}

/// The expressions of all panels.
fn expressions(dashboard: &Value) -> Vec<&str> {
    let panels = dashboard["panels"].as_array().unwrap().iter();
    let targets = panels.filter_map(|panel| panel["targets"].as_array());
    targets
        .flatten()
        .map(|target| target["expr"].as_str().unwrap())
        .collect()
}

/// The metrics that a scrape has, with their descriptions.
fn scraped(text: &str) -> Names {
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let names = types.filter_map(|line| line.split(' ').next());
    let ours = names.filter(|name| name.starts_with("redlock_"));
    ours.inspect(|name| assert!(text.contains(&format!("# HELP {name} ")), "{name}"))
        .map(str::to_owned)
        .collect()
}

/// The first column of the guide's table of metrics.
fn documented() -> Names {
    let rows = PAGE.lines().filter_map(|line| line.strip_prefix("| `"));
    let names = rows.filter_map(|row| row.split(['`', '{']).next());
    let ours = names.filter(|name| name.starts_with("redlock_"));
    ours.map(str::to_owned).collect()
}

/// The metrics of elections, and of functions that return no error: the example has neither.
const OF_OTHERS: [&str; 4] = [
    "redlock_leading",
    "redlock_terms_total",
    "redlock_term_seconds",
    "redlock_swallowed_errors_total",
];

#[tokio::test]
async fn the_dashboard_asks_for_what_is_exported_and_documented() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).unwrap();
    let expressions = expressions(&dashboard);
    let asked: Names = expressions.iter().flat_map(|it| names_in(it)).collect();
    assert_eq!(asked, documented(), "the dashboard, and the guide");

    let fleet = Fleet::start("telemetry", 1, &[("RUST_LOG", "redlock=info")]).await;
    let (status, text) = http_post(fleet.addr(), "/orders/3/charge").await.unwrap();
    assert_eq!(status, 200, "{text}");
    let expected: Names = &documented() - &OF_OTHERS.map(str::to_owned).into();
    let text = eventually("a scrape with all that is documented", LONG, async || {
        let reply = http_request(fleet.addr(), "GET", "/metrics", "")
            .await
            .unwrap();
        let exported = scraped(&reply.body);
        (exported == expected)
            .then_some(reply.body)
            .ok_or_else(|| format!("{exported:?}"))
    })
    .await;
    // Each has the labels that the dashboard selects and groups by.
    for name in expected {
        let label = if name.starts_with("redlock_node_") {
            "pool=\""
        } else {
            "site=\""
        };
        let mut series = text.lines().filter(|line| line.starts_with(&name));
        assert!(series.all(|line| line.contains(label)), "{name}:\n{text}");
    }
    assert!(text.contains(r#"redlock_wait_seconds_bucket{site="charge",kind="plain",le="0.005"}"#));
    assert!(!text.contains("order:"), "what is locked is no label");
    let said = fleet.said();
    let spans = said
        .lines()
        .filter(|line| line.contains("close") && line.contains("order:3"));
    assert_eq!(spans.count(), 2, "the acquisition, and the hold: {said}");
    assert_end_well(&fleet).await;
}
