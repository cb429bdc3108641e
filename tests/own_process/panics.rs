//! A log and a metrics recorder that panic whenever they are told anything. In a binary of its own: a
//! process has one of each.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use metrics::{
    Counter, CounterFn, Gauge, GaugeFn, Histogram, HistogramFn, Key, KeyName, Metadata, Recorder,
    SharedString, Unit,
};
use redlock_runtime::parameters::MaxHold;
use redlock_runtime::registry::{HeldLease, Registry};
use redlock_runtime::{Config, LockBuilder, Redlock, lock};
use redlock_tests::{Nodes, wait_until};
use tracing::{Event, Subscriber, span};

const SOON: Duration = Duration::from_secs(30);

struct Bomb;

/// Where the bombs go off.
const IN_THE_LOG: &str = "a bomb in the log";
const IN_FIGURES: &str = "a bomb in figures";

static IS_ARMED: AtomicBool = AtomicBool::new(false);

fn explode(place: &'static str) {
    if IS_ARMED.load(Ordering::Relaxed) {
        std::panic::panic_any(place);
    }
}

/// A lock, of one site for all names.
fn wanted(name: &str) -> LockBuilder {
    lock(name)
        .ttl(Duration::from_secs(1))
        .max_hold(MaxHold::Unlimited)
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
        explode(IN_THE_LOG);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

impl CounterFn for Bomb {
    fn increment(&self, _: u64) {
        explode(IN_FIGURES);
    }

    fn absolute(&self, _: u64) {
        explode(IN_FIGURES);
    }
}

impl GaugeFn for Bomb {
    fn increment(&self, _: f64) {
        explode(IN_FIGURES);
    }

    fn decrement(&self, _: f64) {
        explode(IN_FIGURES);
    }

    fn set(&self, _: f64) {
        explode(IN_FIGURES);
    }
}

impl HistogramFn for Bomb {
    fn record(&self, _: f64) {
        explode(IN_FIGURES);
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

/// Callers that wait in line for one lock unwind one after another, and the drops of each release it.
async fn callers_unwind(registry: &Registry, nodes: &Nodes) {
    let call = |registry: Registry| async { registry.scope(wanted("s").acquire()).await.map(drop) };
    let callers: Vec<_> = (0..3)
        .map(|_| tokio::spawn(call(registry.clone())))
        .collect();
    for caller in callers {
        let ended = tokio::time::timeout(SOON, caller).await.expect("an end");
        let panic = ended.expect_err("a bomb").into_panic();
        assert_eq!(panic.downcast_ref(), Some(&IN_THE_LOG));
    }
    for node in nodes {
        wait_until("the release", || node.get("s"), Option::is_none).await;
    }
}

#[tokio::test]
async fn a_log_that_panics_unwinds_callers_and_ends_no_task() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        // The tests cause hundreds of these panics.
        let place = info.payload().downcast_ref();
        if place != Some(&IN_THE_LOG) && place != Some(&IN_FIGURES) {
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
    let acquiring = registry.clone().scope(wanted("r").acquire());
    let lease = acquiring.await.unwrap();
    IS_ARMED.store(true, Ordering::Relaxed);
    callers_unwind(&registry, &nodes).await;
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
