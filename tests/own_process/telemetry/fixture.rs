//! Registries over real nodes, and functions to call.

use std::sync::OnceLock;
use std::time::Duration;

use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use redlock_runtime::config::RestartCheck;
use redlock_runtime::registry::Registry;
use redlock_runtime::{Config, Redlock};
use redlock_tests::Nodes;

pub(crate) const SOON: Duration = Duration::from_secs(20);

/// Three nodes as pools of these names. They all vote. The restart check would keep one away that was
/// slow while the set was new.
pub(crate) async fn start_as(names: [&str; 3]) -> (Nodes, Redlock) {
    let nodes = Nodes::start(3).await;
    let config = Config::new()
        .node_timeout(SOON)
        .connect_timeout(SOON)
        .restart_check(RestartCheck::Off);
    let pools = nodes.urls().into_iter().zip(names);
    let config = pools.fold(config, |config, (url, name)| config.pool(name, url));
    let redlock = Redlock::start(config).await;
    (nodes, redlock.expect("a good configuration"))
}

pub(crate) fn registry(redlock: &Redlock) -> Registry {
    redlock.registry().clone()
}

/// All figures of this process.
pub(crate) fn figures() -> Figures {
    static RECORDER: OnceLock<PrometheusHandle> = OnceLock::new();
    let recorder = RECORDER.get_or_init(|| PrometheusBuilder::new().install_recorder().unwrap());
    Figures(recorder.render())
}

pub(crate) struct Figures(pub(crate) String);

impl Figures {
    /// The value of `name{labels…}`, with the labels in any order.
    pub(crate) fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        self.0.lines().find_map(|line| {
            let (series, value) = line.rsplit_once(' ')?;
            let (its_name, its_labels) = series.split_once('{')?;
            let has = |(key, value): &(&str, &str)| {
                let label = format!("{key}=\"{value}\"");
                let its_labels = its_labels.trim_end_matches('}');
                its_labels.split(',').any(|it| it == label)
            };
            (its_name == name && labels.iter().all(has)).then(|| value.parse().unwrap())
        })
    }

    pub(crate) fn of_site(&self, name: &str, site: &str) -> f64 {
        self.get(name, &[("site", site)]).unwrap_or(-1.0)
    }

    pub(crate) fn outcome(&self, site: &str, outcome: &str) -> f64 {
        let labels = [("site", site), ("outcome", outcome)];
        self.get("redlock_acquisitions_total", &labels)
            .unwrap_or(-1.0)
    }
}
