//! What a signal leaves of a program that calls `init` and no shutdown.

use std::os::unix::process::ExitStatusExt as _;
use std::time::Duration;

use redlock_tests::{Nodes, Service, Signal, eventually, sections, sections_so_far};

use crate::services::LONG;
use crate::services::fleet::{key, start_nodes};
use crate::services::shutdown::{NO_END, insist, until_said};

const RELEASING: [(&str, &str); 2] = [
    ("REDLOCK_SHUTDOWN_RELEASE_ON_EXIT", "true"),
    ("REDLOCK_SHUTDOWN_GRACE", "200ms"),
];

/// What the first lease says of signals.
const SAID: &str = "SIGTERM and SIGINT leave the keys of held locks to their ttl";

type Environment = Vec<(String, String)>;

async fn spawn(mode: &str, nodes: &Environment, settings: &[(&str, &str)], ready: &str) -> Service {
    let program = Service::build_example("only_init").await;
    let settings = settings
        .iter()
        .map(|&(name, value)| (name.into(), value.into()));
    Service::spawn_with_args(
        program,
        [mode],
        nodes.iter().cloned().chain(settings),
        ready,
    )
    .await
}

fn keys(nodes: &Nodes) -> usize {
    nodes.values_of(key(7)).iter().flatten().count()
}

/// Asks the process to end. Returns the signal that ended it.
async fn ended(service: &Service, signal: Signal) -> Option<i32> {
    service.signal(signal);
    service.wait(LONG).await.signal()
}

#[tokio::test]
async fn processes_exclude_each_other_and_every_way_out_releases() {
    let (nodes, mut environment) = start_nodes().await;
    let journal = nodes[0].dir().join("orders.log");
    environment.push(("ORDERS_LOG".into(), journal.display().to_string()));
    environment.push(("REDLOCK_DEFAULTS_WAIT".into(), "1m".into()));
    let one = spawn("work", &environment, &RELEASING, "works").await;
    let other = spawn("work", &environment, &RELEASING, "works").await;
    let sections_of = |service: &Service| {
        let (ended, _) = sections_so_far(&journal).unwrap_or_default();
        let prefix = format!("{}-", service.pid());
        ended.iter().filter(|it| it.id.starts_with(&prefix)).count()
    };
    let both_work = async || {
        let before = [&one, &other].map(sections_of);
        eventually("both to work", LONG, async || {
            let now = [&one, &other].map(sections_of);
            let have = now
                .iter()
                .zip(&before)
                .all(|(now, before)| *now >= before + 5);
            have.then_some(()).ok_or(format!("{now:?}\n{one}\n{other}"))
        })
        .await;
    };
    both_work().await;
    nodes[2].kill();
    both_work().await;
    for service in [&one, &other] {
        assert_eq!(ended(service, Signal::TERM).await, Some(15), "{service}");
    }
    sections(&journal).expect("no two in the body at once");
    nodes.assert_no_lock_keys(Duration::ZERO).await;

    let panics = spawn("panic", &environment, &RELEASING, "panicked").await;
    nodes.assert_no_lock_keys(LONG).await;
    drop(panics);
    let holds = spawn("hold", &environment, &RELEASING, "held").await;
    assert_eq!(keys(&nodes), 2);
    assert_eq!(ended(&holds, Signal::TERM).await, Some(15), "{holds}");
    nodes.assert_no_lock_keys(Duration::ZERO).await;
}

#[tokio::test]
async fn release_on_exit_releases_before_the_signal_ends_it() {
    let (nodes, environment) = start_nodes().await;
    for (signal, other) in [(Signal::TERM, Signal::INT), (Signal::INT, Signal::TERM)] {
        let service = spawn("hold", &environment, &RELEASING, "held").await;
        assert!(keys(&nodes) >= 2);
        assert_eq!(
            ended(&service, signal).await,
            Some(signal.as_raw()),
            "{service}"
        );
        nodes.assert_no_lock_keys(Duration::ZERO).await;
        assert!(!service.output().contains(SAID), "{service}");

        let patient = [NO_END[0], NO_END[1], RELEASING[0]];
        let service = spawn("hold", &environment, &patient, "held").await;
        service.signal(signal);
        until_said(&service, "redlock shuts down").await;
        assert!(service.is_running(), "{service}");
        assert_eq!(
            insist(&service, other).await,
            Some(other.as_raw()),
            "{service}"
        );
        assert!(keys(&nodes) >= 2);
        for node in &nodes {
            node.del(key(7));
        }
    }
}

#[tokio::test]
async fn a_signal_leaves_the_keys_and_the_first_lease_says_so_once() {
    let (nodes, environment) = start_nodes().await;
    let service = spawn("hold", &environment, &[], "held").await;
    assert_eq!(ended(&service, Signal::TERM).await, Some(15), "{service}");
    assert!(keys(&nodes) >= 2);
    assert_eq!(service.output().matches(SAID).count(), 1, "{service}");
}

#[tokio::test]
async fn nothing_is_said_of_signals_if_the_program_awaits_them() {
    let (_nodes, environment) = start_nodes().await;
    let service = spawn("wait", &environment, &[], "held").await;
    service.signal(Signal::TERM);
    assert!(service.wait(LONG).await.success(), "{service}");
    let output = service.output();
    assert!(
        output.contains("redlock has shut down") && !output.contains(SAID),
        "{output}"
    );
}

#[tokio::test]
async fn release_on_exit_steps_back_if_the_program_awaits_the_signal() {
    let (nodes, environment) = start_nodes().await;
    let service = spawn("wait", &environment, &RELEASING, "held").await;
    service.signal(Signal::TERM);
    assert!(service.wait(LONG).await.success(), "{service}");
    assert!(service.output().contains("shut down: "), "{service}");
    nodes.assert_no_lock_keys(Duration::ZERO).await;
}

#[tokio::test]
async fn a_worker_below_shutdown_after_has_its_grace_at_a_signal() {
    let (nodes, environment) = start_nodes().await;
    let grace = [RELEASING[1]];
    let service = spawn("after", &environment, &grace, "held").await;
    service.signal(Signal::TERM);
    assert!(service.wait(LONG).await.success(), "{service}");
    let output = service.output();
    assert!(output.contains("1 cancelled and released"), "{output}");
    assert!(!output.contains(SAID), "{output}");
    nodes.assert_no_lock_keys(Duration::ZERO).await;
}
