//! A background worker whose lock is renewed.

use std::cell::Cell;
use std::time::Duration;

use redlock_tests::{Service, Signal, eventually};

use crate::examples::assert_end_well;
use crate::services::LONG;
use crate::services::fleet::Fleet;

/// Returns the batches that a process has loaded.
fn batches(service: &Service) -> Vec<u64> {
    let output = service.output();
    let lines = output
        .lines()
        .filter_map(|line| line.strip_prefix("batch "));
    lines.filter_map(|batch| batch.parse().ok()).collect()
}

#[tokio::test]
async fn a_worker_renews_its_lock_and_another_goes_on_after_it() {
    let mut fleet = Fleet::start("worker", 0, &[]).await;
    fleet.add("worker", "batch 0").await;
    fleet.add("worker", "working").await;
    let left = || {
        fleet
            .nodes
            .iter()
            .filter_map(|it| it.pttl("import:catalogue").left())
            .max()
    };
    let least = Cell::new(Duration::MAX);
    eventually("a renewal", LONG, async || {
        let left = left().unwrap_or_default();
        least.set(least.get().min(left));
        (left > least.get())
            .then_some(())
            .ok_or_else(|| fleet.said())
    })
    .await;

    let [worker, next] = &fleet.services[..] else {
        unreachable!()
    };
    assert!(batches(next).is_empty(), "{next}");
    worker.signal(Signal::TERM);
    assert!(worker.wait(LONG).await.success(), "{worker}");
    let done = batches(worker);
    worker
        .wait_for_line(&format!("imported {} batches", done.len()), LONG)
        .await;
    next.wait_for_line(&format!("batch {}", done.len()), LONG)
        .await;
    assert_eq!(batches(next)[0], done.len() as u64, "{next}");
    assert_end_well(&fleet).await;
}
