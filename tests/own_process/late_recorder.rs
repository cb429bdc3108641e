//! A recorder that is installed after `init`. In a binary of its own: a process has one recorder.

use metrics_exporter_prometheus::PrometheusBuilder;
use redlock_runtime::{Config, LockError, Redlock, lock, redlock};

#[redlock(resource = "r", name = "late::site")]
async fn locked() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn what_happens_behind_it_is_counted() {
    let redlock = Redlock::start(Config::new().pool("a", "memory://a"))
        .await
        .unwrap();
    let registry = redlock.registry().clone();
    registry.clone().scope(locked()).await.unwrap();
    let early = registry
        .clone()
        .scope(lock("early").name("late::early").acquire());
    let early = early.await.unwrap();
    let recorder = PrometheusBuilder::new().install_recorder().unwrap();
    for _ in 0..2 {
        registry.clone().scope(locked()).await.unwrap();
    }
    early.release().await;
    let text = recorder.render();
    assert!(
        !text.contains("} -1"),
        "no gauge goes down that did not go up: {text}"
    );
    let acquired =
        r#"redlock_acquisitions_total{site="late::site",kind="plain",outcome="acquired"} 2"#;
    assert!(text.contains(acquired), "{text}");
    assert!(
        text.contains("# HELP redlock_wait_seconds How long"),
        "{text}"
    );
    redlock.shutdown().await;
}
