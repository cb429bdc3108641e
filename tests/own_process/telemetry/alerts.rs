//! The alert rules of the guide, and the labels that are exported.

use redlock_runtime::redlock;
use redlock_tests::eventually;

use crate::fixture::{SOON, figures, registry, start_as};

const PAGE: &str = include_str!("../../../redlock-runtime/guide/operate/readiness.md");

/// An alert: its name, and the selectors of its expression.
struct Alert {
    name: String,
    selectors: Vec<Selector>,
}

/// `name{label="value", …}`
#[derive(Debug)]
struct Selector {
    metric: String,
    labels: Vec<(String, String)>,
}

fn alerts() -> Vec<Alert> {
    let mut found: Vec<Alert> = Vec::new();
    for line in PAGE.lines().map(str::trim_start) {
        if let Some(name) = line.strip_prefix("- alert: ") {
            found.push(Alert {
                name: name.to_owned(),
                selectors: Vec::new(),
            });
        } else if let Some(expression) = line.strip_prefix("expr: ") {
            let alert = found.last_mut().expect("an alert before its expression");
            alert.selectors = selectors(expression);
        }
    }
    found
}

fn selectors(expression: &str) -> Vec<Selector> {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let starts = expression.match_indices("redlock_").map(|(at, _)| at);
    let selector = |at: usize| {
        let rest = &expression[at..];
        let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len());
        let (metric, rest) = rest.split_at(end);
        let matchers = rest.strip_prefix('{').and_then(|it| it.split_once('}'));
        let matchers = matchers.map_or("", |(inside, _)| inside);
        let labels = matchers
            .split(',')
            .filter(|it| !it.is_empty())
            .map(|matcher| {
                // `!=` and `=` name the value alike.
                let (label, value) = matcher.split_once('=').expect("a matcher");
                let label = label.trim().trim_end_matches('!');
                (label.to_owned(), value.trim_matches('"').to_owned())
            });
        Selector {
            metric: metric.to_owned(),
            labels: labels.collect(),
        }
    };
    starts.map(selector).collect()
}

impl Selector {
    /// The value of one of the series that it selects.
    fn value(&self, and: (&str, &str)) -> Option<f64> {
        let labels = self
            .labels
            .iter()
            .map(|(label, value)| (&**label, &**value));
        let labels: Vec<_> = labels.chain([and]).collect();
        figures().get(&self.metric, &labels)
    }
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
    let alerts = alerts();
    assert!(alerts.len() >= 6 && alerts.iter().all(|it| !it.selectors.is_empty()));
    for alert in alerts {
        for selector in &alert.selectors {
            let of = if selector.metric.starts_with("redlock_node_") {
                ("pool", names[0])
            } else {
                ("site", "alerts::skips")
            };
            eventually(&alert.name, SOON, async || {
                let value = selector.value(of);
                value.map(drop).ok_or_else(|| format!("{selector:?}"))
            })
            .await;
        }
    }
    redlock.shutdown().await;
}
