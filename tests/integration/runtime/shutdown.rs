//! The end of a registry.

use std::time::Duration;

use redlock_runtime::error::LockErrorKind;
use redlock_runtime::lease::LeaseEnd;
use redlock_runtime::{Config, LockError, Redlock, lock, redlock};
use redlock_tests::Nodes;

use crate::runtime::fixture::{
    SOON, Stage, config, registry, spawn_on, stage, start, start_nodes, until_in_line,
};

const GRACE: Duration = Duration::from_millis(50);

#[redlock(resource = "r")]
async fn work(mut stage: Stage) -> Result<&'static str, LockError> {
    stage.play().await;
    Ok("done")
}

#[redlock(resource = "below")]
async fn below() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "above")]
async fn above(mut stage: Stage) -> Result<(), LockError> {
    stage.play().await;
    below().await
}

/// Gives bodies a moment, and the nodes all the time that a busy machine takes.
async fn impatient(n: usize) -> (Nodes, Redlock) {
    with_deadline(n, SOON).await
}

/// The same for a shutdown that reaches its deadline.
async fn with_deadline(n: usize, deadline: Duration) -> (Nodes, Redlock) {
    let nodes = start_nodes(n).await;
    let config = config(&nodes)
        .shutdown_grace(GRACE)
        .shutdown_deadline(deadline);
    let redlock = Redlock::start(config).await.unwrap();
    (nodes, redlock)
}

#[tokio::test]
async fn new_calls_are_refused_and_a_body_has_its_grace_period() {
    let (nodes, redlock) = start(3).await;
    let scope = registry(&redlock);
    let (first, director) = stage();
    let call = spawn_on(&redlock, work(first));
    director.begun.await.unwrap();

    let shutting_down = tokio::spawn(redlock.shutdown());
    let refused = || async {
        match scope.clone().scope(work(stage().0)).await {
            Err(error) if error.is_shutting_down() => Ok(error),
            other => Err(format!("{other:?}")),
        }
    };
    let error = redlock_tests::eventually("the refusal", SOON, refused).await;
    assert!(error.to_string().contains("shutting down"), "{error}");
    assert!(
        !shutting_down.is_finished(),
        "the body has its grace period"
    );

    director.end.send(()).unwrap();
    assert_eq!(call.await.unwrap().unwrap(), "done");
    let report = shutting_down.await.unwrap();
    assert_eq!(report.finished.len(), 1, "{report:?}");
    assert!(
        report.cancelled.is_empty() && report.stuck.is_empty(),
        "{report:?}"
    );
    assert!(report.unconfirmed.is_empty(), "{report:?}");
    // Not eventually: the report says that every node has served everything.
    assert!(nodes.lock_keys().is_empty());
}

#[tokio::test]
async fn a_body_that_outlives_its_grace_period_is_cancelled() {
    let (nodes, redlock) = impatient(3).await;
    let (stage, director) = stage();
    let call = spawn_on(&redlock, work(stage));
    director.begun.await.unwrap();
    let report = redlock.shutdown().await;
    assert_eq!(report.cancelled.len(), 1, "{report:?}");
    let expected = "0 finished, 1 cancelled and released, 0 stuck";
    assert_eq!(report.to_string(), expected);
    assert!(nodes.lock_keys().is_empty());
    let error = call.await.unwrap().unwrap_err();
    assert!(
        matches!(error.kind(), LockErrorKind::Lost(LeaseEnd::Revoked)),
        "{error}"
    );
}

#[tokio::test]
async fn a_call_after_the_registry_was_dropped_says_so() {
    let config = Config::new().pool("a", "memory://a");
    let redlock = Redlock::start(config).await.unwrap();
    let registry = redlock.registry().clone();
    drop(redlock);
    let error = registry.scope(lock("r").acquire()).await.unwrap_err();
    assert!(error.is_shutting_down());
    let text = error.to_string();
    assert!(text.ends_with("or dropped its `Redlock`"), "{text}");
}

#[tokio::test]
async fn a_call_below_a_held_lease_is_still_admitted() {
    let (nodes, redlock) = start(3).await;
    let (stage, director) = stage();
    let call = spawn_on(&redlock, above(stage));
    director.begun.await.unwrap();
    let scope = registry(&redlock);
    let shutting_down = tokio::spawn(redlock.shutdown());
    redlock_tests::eventually("the refusal", SOON, || async {
        match scope.clone().scope(below()).await {
            Err(error) if error.is_shutting_down() => Ok(()),
            other => Err(format!("{other:?}")),
        }
    })
    .await;
    director.end.send(()).unwrap();
    call.await.unwrap().unwrap();
    shutting_down.await.unwrap();
    assert!(nodes.lock_keys().is_empty());
}

#[tokio::test]
async fn an_acquisition_that_waits_is_refused_at_once() {
    let (nodes, redlock) = start(3).await;
    for node in &nodes {
        node.set("r", "someone", Some(Duration::from_secs(60)));
    }
    let waiting = spawn_on(&redlock, lock("r").wait(Duration::from_secs(600)).acquire());
    // It was refused, and watches for the holder's release.
    let is_watched = || {
        let mut counts = nodes.iter().map(|node| node.info("tracking_clients"));
        counts.any(|clients| clients.as_deref() != Some("0"))
    };
    redlock_tests::wait_until("a caller that waits", is_watched, |it| *it).await;
    redlock.shutdown().await;
    let error = waiting.await.unwrap().map(|_| ()).unwrap_err();
    assert!(error.is_shutting_down(), "{error}");
}

/// The turn goes down the line as the callers leave it.
#[tokio::test]
async fn callers_in_line_ask_no_node_once_the_gate_has_closed() {
    let (nodes, redlock) = start(1).await;
    let before = nodes[0].calls("set");
    // The caller with the turn gets no answer.
    nodes[0].freeze();
    let call = || spawn_on(&redlock, lock("r").wait(Duration::from_secs(600)).acquire());
    let calls = [call(), call(), call()];
    until_in_line(&redlock, 2).await;
    let shutting_down = tokio::spawn(redlock.shutdown());
    for call in calls {
        let error = call.await.unwrap().map(|_| ()).unwrap_err();
        assert!(error.is_shutting_down(), "{error}");
    }
    nodes[0].thaw();
    let report = shutting_down.await.unwrap();
    assert!(report.unconfirmed.is_empty(), "{report:?}");
    let asked = nodes[0].calls("set") - before;
    assert!(asked <= 1, "{asked} acquisitions");
    assert!(nodes.lock_keys().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_does_not_yield_keeps_its_key_and_is_reported() {
    // A real server would have to confirm the release in the 200 ms that remain after such a body.
    let config = Config::new()
        .pool("a", "memory://a")
        .shutdown_grace(GRACE)
        .shutdown_deadline(Duration::from_millis(700));
    let redlock = Redlock::start(config).await.unwrap();
    let node = registry(&redlock).memory_node("a").unwrap().clone();
    let (go, has_to_go) = std::sync::mpsc::channel();
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let call = spawn_on(
        &redlock,
        lock("r").run(async move {
            begun.send(()).unwrap();
            // Blocks the thread. An error where the test has failed.
            let _: Result<(), _> = has_to_go.recv();
        }),
    );
    has_begun.await.unwrap();
    let report = redlock.shutdown().await;
    assert_eq!(report.stuck.len(), 1, "{report:?}");
    assert!(report.unconfirmed.is_empty(), "{report:?}");
    assert!(node.get(b"r").is_some(), "released under a running body");
    go.send(()).unwrap();
    call.await.unwrap().unwrap();
    assert!(node.keys().is_empty());
}

#[tokio::test]
async fn a_frozen_node_does_not_hold_the_shutdown_up_and_is_named() {
    let nodes = start_nodes(3).await;
    // With this node timeout a node is suspect after 8 s without an answer, and dead after 32 s.
    let config = config(&nodes)
        .node_timeout(Duration::from_secs(2))
        .shutdown_grace(Duration::from_secs(60))
        .shutdown_deadline(Duration::from_secs(120));
    let redlock = Redlock::start(config).await.unwrap();
    let (stage, director) = stage();
    let call = spawn_on(&redlock, work(stage));
    director.begun.await.unwrap();
    nodes[0].freeze();
    let shutting_down = tokio::spawn(redlock.shutdown());
    director.end.send(()).unwrap();
    call.await.unwrap().unwrap();
    let ended = std::time::Instant::now();
    let report = shutting_down.await.unwrap();
    let waited = ended.elapsed();
    assert!(
        waited < Duration::from_secs(7),
        "it waited for the node: {waited:?}"
    );
    assert_eq!(report.unconfirmed, ["a"], "{report:?}");
    assert_eq!(report.finished.len(), 1, "{report:?}");
    // The release was handed to the connection of the frozen node, too.
    nodes[0].thaw();
    nodes.assert_no_lock_keys(SOON).await;
}

#[test]
fn dropping_the_handle_outside_of_a_runtime_waits_for_the_end() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (nodes, redlock) = runtime.block_on(impatient(3));
    let lease = runtime
        .block_on(registry(&redlock).scope(lock("r").acquire()))
        .unwrap();
    let body = lock("s").run(std::future::pending::<()>());
    let body = runtime.spawn(registry(&redlock).scope(body));
    while registry(&redlock).held_count() < 2 {
        std::thread::yield_now();
    }
    drop(redlock);
    assert!(nodes.lock_keys().is_empty());
    assert!(runtime.block_on(body).unwrap().unwrap_err().is_lost());
    drop(lease);
}

#[tokio::test]
async fn dropping_the_handle_inside_a_runtime_does_not_wait() {
    let (nodes, redlock) = impatient(3).await;
    let lease = registry(&redlock).scope(lock("r").acquire()).await.unwrap();
    drop(redlock);
    assert_eq!(lease.lost().await, LeaseEnd::Revoked);
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_shutdown_whose_future_is_dropped_goes_on() {
    for polls in 0..3 {
        let (nodes, redlock) = impatient(3).await;
        let lease = registry(&redlock).scope(lock("r").acquire()).await.unwrap();
        redlock_tests::drop_after(polls, redlock.shutdown()).await;
        assert_eq!(lease.lost().await, LeaseEnd::Revoked);
        nodes.assert_no_lock_keys(SOON).await;
    }
}

/// Polls an acquisition once, which sends it. A majority is frozen meanwhile: votes may be back
/// before a single poll is over.
async fn begin<F: Future>(nodes: &Nodes, acquiring: &mut std::pin::Pin<Box<F>>) {
    nodes[0].freeze();
    nodes[1].freeze();
    let is_done = std::future::poll_fn(|context| {
        std::task::Poll::Ready(acquiring.as_mut().poll(context).is_ready())
    })
    .await;
    assert!(!is_done);
    nodes[0].thaw();
    nodes[1].thaw();
}

#[tokio::test]
async fn an_acquisition_under_way_is_waited_for() {
    let (nodes, redlock) = start(3).await;
    let mut acquiring = Box::pin(registry(&redlock).scope(lock("r").acquire()));
    begin(&nodes, &mut acquiring).await;
    let shutting_down = tokio::spawn(redlock.shutdown());
    let outcome = acquiring.await;
    // Whether it came in before the gate closed is a matter of luck.
    drop(outcome);
    let report = shutting_down.await.unwrap();
    assert_eq!(report.under_way, 0, "{report}");
    assert!(nodes.lock_keys().is_empty(), "{report}");
}

#[tokio::test]
async fn an_acquisition_that_nobody_polls_is_reported() {
    let (nodes, redlock) = with_deadline(3, Duration::from_millis(700)).await;
    let mut acquiring = Box::pin(registry(&redlock).scope(lock("r").acquire()));
    begin(&nodes, &mut acquiring).await;
    let report = redlock.shutdown().await;
    assert_eq!(report.under_way, 1, "{report}");
    assert!(
        report
            .to_string()
            .contains("1 acquisitions still under way"),
        "{report}"
    );
    drop(acquiring);
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn a_server_that_ends_is_followed_by_the_shutdown() {
    let (nodes, redlock) = impatient(3).await;
    let lease = registry(&redlock).scope(lock("r").acquire()).await.unwrap();
    let (served, report) = redlock.shutdown_after(async { "served" }).await;
    assert_eq!(served, Some("served"));
    assert_eq!(report.released.len(), 1, "{report}");
    assert!(nodes.lock_keys().is_empty());
    drop(lease);
}

#[tokio::test]
async fn a_server_that_is_dropped_half_way_is_shut_down_all_the_same() {
    // Nothing wakes it for a third.
    for polls in 0..2 {
        let (nodes, redlock) = impatient(3).await;
        let lease = registry(&redlock).scope(lock("r").acquire()).await.unwrap();
        let (server, is_dropped) = tokio::sync::oneshot::channel::<()>();
        let serving = redlock.shutdown_after(async move {
            let _server = server;
            std::future::pending::<()>().await;
        });
        assert!(redlock_tests::drop_after(polls, serving).await.is_none());
        assert!(is_dropped.await.is_err());
        assert_eq!(lease.lost().await, LeaseEnd::Revoked);
        nodes.assert_no_lock_keys(SOON).await;
    }
}
