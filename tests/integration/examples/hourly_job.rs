//! A job that every process has in its schedule.

use redlock_tests::{Service, eventually};

use crate::examples::assert_end_well;
use crate::services::LONG;
use crate::services::fleet::Fleet;

const SENT: &str = "sent 2 invoices";
const SKIPPED: &str = "skipped: ";

/// Waits until the process has sent or skipped, and returns true if it has sent.
async fn has_sent(service: &Service) -> bool {
    eventually("the first run", LONG, async || {
        let output = service.output();
        let outcome = [SENT, SKIPPED].map(|it| output.contains(it));
        let is_over = outcome != [false, false];
        is_over.then_some(outcome[0]).ok_or(output)
    })
    .await
}

#[tokio::test]
async fn a_job_runs_in_one_process_of_the_fleet_in_its_hour() {
    let mut fleet = Fleet::start("hourly_job", 0, &[]).await;
    for _ in 0..3 {
        fleet.add("hourly_job", "").await;
    }
    let mut sent = 0;
    for service in &fleet.services {
        sent += usize::from(has_sent(service).await);
    }
    assert_eq!(sent, 1, "{}", fleet.said());
    assert_end_well(&fleet).await;

    // The run is remembered when its process is gone.
    let late = fleet.add("hourly_job", "").await;
    assert!(!has_sent(late).await, "{late}");
    assert_end_well(&fleet).await;
}
