//! The alert rules of the guide, and the labels that are exported.

use redlock_runtime::redlock;
use redlock_tests::eventually;

use crate::fixture::{SOON, figures, registry, start_as};

const PAGE: &str = include_str!("../../../redlock-runtime/guide/operate/readiness.md");

/// `name{label="value", …}`: the metric, and its labels with their values.
type Selector<'a> = (&'a str, Vec<(&'a str, &'a str)>);

/// The selectors in an expression.
fn selectors(expression: &str) -> impl Iterator<Item = Selector<'_>> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    expression.match_indices("redlock_").map(move |(at, _)| {
        let rest = &expression[at..];
        let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
        let (metric, rest) = rest.split_at(end);
        let matchers = rest.strip_prefix('{').and_then(|it| it.split_once('}'));
        let matchers = matchers.map_or("", |(inside, _)| inside).split(',');
        // `!=` and `=` name the value alike.
        let labels = matchers.filter_map(|matcher| matcher.split_once('='));
        let labels = labels
            .map(|(label, value)| (label.trim().trim_end_matches('!'), value.trim_matches('"')));
        (metric, labels.collect())
    })
}

#[redlock(resource = "alerts", if_locked = "skip", name = "alerts::skips")]
async fn skips() {}

/// An alert on a label that nothing exports is silent for ever.
#[tokio::test]
async fn every_alert_selects_series_that_there_are() {
    figures();
    let names = ["alerts-a", "alerts-b", "alerts-c"];
    let (_nodes, redlock) = start_as(names).await;
    registry(&redlock).scope(skips()).await;
    let lines = PAGE.lines().map(str::trim_start);
    let expressions: Vec<_> = lines
        .filter_map(|line| line.strip_prefix("expr: "))
        .collect();
    assert!(expressions.len() >= 6, "{expressions:?}");
    for expression in expressions {
        assert!(selectors(expression).count() > 0, "{expression}");
        for (metric, mut labels) in selectors(expression) {
            let is_of_node = metric.starts_with("redlock_node_");
            labels.push(if is_of_node {
                ("pool", names[0])
            } else {
                ("site", "alerts::skips")
            });
            eventually(metric, SOON, async || {
                let value = figures().get(metric, &labels);
                value.map(drop).ok_or_else(|| format!("{labels:?}"))
            })
            .await;
        }
    }
    redlock.shutdown().await;
}
