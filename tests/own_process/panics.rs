//! A log and a metrics recorder that panic whenever they are told anything. In a binary of its own: a
//! process has one of each.

use std::sync::Arc;
use std::time::Duration;

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use redlock_runtime::parameters::Renewal;
use redlock_runtime::registry::HeldLease;
use redlock_runtime::{Config, Redlock, lock};
use redlock_tests::{Nodes, wait_until};
use tracing::{Event, Subscriber, span};

const SOON: Duration = Duration::from_secs(30);

struct Bomb;

fn explode() -> ! {
    panic!("a bomb")
}

impl Subscriber for Bomb {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, _: &Event<'_>) {
        explode();
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl CounterFn for Bomb {
    fn increment(&self, _: u64) {
        explode();
    }

    fn absolute(&self, _: u64) {
        explode();
    }
}

impl GaugeFn for Bomb {
    fn increment(&self, _: f64) {
        explode();
    }

    fn decrement(&self, _: f64) {
        explode();
    }

    fn set(&self, _: f64) {
        explode();
    }
}

impl HistogramFn for Bomb {
    fn record(&self, _: f64) {
        explode();
    }
}

impl Recorder for Bomb {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, _: &Key, _: &Metadata<'_>) -> Counter {
        Counter::from_arc(Arc::new(Self))
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::from_arc(Arc::new(Self))
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::from_arc(Arc::new(Self))
    }
}

#[tokio::test]
async fn what_panics_in_the_code_of_others_ends_nothing() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // The tests cause hundreds of these panics.
        if info.payload().downcast_ref() != Some(&"a bomb") {
            hook(info);
        }
    }));
    tracing::subscriber::set_global_default(Bomb).unwrap();
    metrics::set_global_recorder(Bomb).unwrap();

    let nodes = Nodes::start(3).await;
    let config = Config::new().node_timeout(SOON).connect_timeout(SOON);
    let pools = nodes.urls().into_iter().zip('a'..);
    let config = pools.fold(config, |config, (url, name)| config.pool(name, url));
    let redlock = Redlock::start(config).await.unwrap();
    let registry = redlock.registry().clone();
    let wanted = lock("r")
        .ttl(Duration::from_secs(1))
        .max_hold(Renewal::Unlimited);
    let lease = registry.clone().scope(wanted.acquire()).await.unwrap();
    let are_renewed = |held: &Vec<HeldLease>| held.iter().all(|it| it.extensions >= 3);
    wait_until("renewals", || registry.held(), are_renewed).await;
    nodes[0].kill();
    let voting = || registry.votes().voting;
    wait_until("a lost connection", voting, |voting| *voting == 2).await;
    let health = registry.health();
    assert!(
        health.iter().all(|pool| pool.node_health.answers > 0),
        "{health:?}"
    );
    drop(lease);
    for node in nodes.iter().skip(1) {
        wait_until("the release", || node.get("r"), Option::is_none).await;
    }
    let report = tokio::time::timeout(2 * SOON, redlock.shutdown()).await;
    report.expect("an end");
}
