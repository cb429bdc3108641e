//! The programs of `examples/`, as processes of their own on real Redis servers.

mod fenced_write;
mod files;
mod hourly_job;
mod leader;
mod lock_history;
mod own_node;
mod permits;
mod quickstart;
mod services;
mod telemetry;
mod tower_layer;
mod worker;

use std::time::Duration;

use redlock_tests::{Signal, eventually};

use crate::services::LONG;
use crate::services::fleet::Fleet;

/// For a whole story, which takes seconds on an idle machine.
const STORY: Duration = Duration::from_secs(180);

/// Waits until a majority of the nodes has `count` locks.
async fn until_locked(fleet: &Fleet, count: usize) {
    let what = format!("{count} locks on two nodes");
    eventually(&what, LONG, async || {
        let on_two = |key: &Vec<u8>| fleet.nodes.values_of(key).iter().flatten().count() >= 2;
        let locks = fleet
            .nodes
            .lock_keys()
            .iter()
            .filter(|key| on_two(key))
            .count();
        (locks >= count).then_some(()).ok_or_else(|| fleet.said())
    })
    .await;
}

/// Asks all processes to end, and expects that they do so well.
async fn assert_end_well(fleet: &Fleet) {
    for service in &fleet.services {
        service.signal(Signal::TERM);
    }
    for service in &fleet.services {
        assert!(service.wait(LONG).await.success(), "{service}");
    }
    fleet.nodes.assert_no_lock_keys(Duration::ZERO).await;
}
