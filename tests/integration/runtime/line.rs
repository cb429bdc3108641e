//! Annotated calls that stand in line for the same lock.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use redlock_runtime::parameters::{LockOptions, Wait};
use redlock_runtime::{Config, LockError, Redlock, current_lease, lock, redlock};

use crate::runtime::fixture::{
    SOON, Stage, config, registry, spawn_on, stage, start_nodes, until_in_line,
};

/// Returns its owner token's digits.
#[redlock(resource = "r", wait = "1m", retry_delay = "1h")]
async fn holds(mut stage: Stage) -> Result<String, LockError> {
    stage.play().await;
    Ok(current_lease().expect("a lease").token_id().to_owned())
}

#[tokio::test]
async fn the_line_is_as_long_as_the_configuration_says() {
    let nodes = start_nodes(1).await;
    let config = config(&nodes).defaults(LockOptions::new().wait(Wait::Forever));
    let config: Config = config.max_waiters_per_lock(1);
    let redlock = Redlock::start(config).await.unwrap();
    let (stage, director) = stage();
    let holding = spawn_on(&redlock, holds(stage));
    director.begun.await.unwrap();
    let waits = || registry(&redlock).scope(async { lock("r").wait(SOON).acquire().await });
    let mut waiting = Box::pin(waits());
    let looked = poll_fn(|context| Poll::Ready(waiting.as_mut().poll(context).is_pending()));
    assert!(looked.await, "it stands in line");
    let text = waits().await.unwrap_err().to_string();
    assert!(
        text.contains("wanted by 1 callers of this process"),
        "{text}"
    );
    director.end.send(()).unwrap();
    holding.await.unwrap().unwrap();
    waiting.await.unwrap().release().await;
    nodes.assert_no_lock_keys(SOON).await;
}

#[tokio::test]
async fn without_hand_overs_each_release_is_a_real_one() {
    let nodes = start_nodes(3).await;
    let config = config(&nodes).handover_time(Duration::ZERO);
    let redlock = Redlock::start(config).await.unwrap();
    let (first, directs_first) = stage();
    let (next, directs_next) = stage();
    let holding = spawn_on(&redlock, holds(first));
    directs_first.begun.await.unwrap();
    let waiting = spawn_on(&redlock, holds(next));
    until_in_line(&redlock, 1).await;
    for end in [directs_first.end, directs_next.end] {
        end.send(()).unwrap();
    }
    let token = holding.await.unwrap().unwrap();
    assert_ne!(waiting.await.unwrap().unwrap(), token);
    nodes.assert_no_lock_keys(SOON).await;
}
