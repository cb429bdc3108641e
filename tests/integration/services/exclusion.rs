//! However many processes there are: one at a time.

use crate::services::LONG;
use crate::services::fleet::{Fleet, charge, post};
use redlock_tests::check_no_overlap;
use tokio::task::JoinSet;

const ORDER: u64 = 42;
const REQUESTS_TO_EACH: usize = 200;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_axum_processes_never_work_on_one_order_at_once() {
    one_at_a_time("axum_orders", 3).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_actix_processes_never_work_on_one_order_at_once() {
    one_at_a_time("actix_orders", 2).await;
}

/// Sends all requests at once: each is charged alone or refused.
async fn one_at_a_time(example: &str, processes: usize) {
    let fleet = Fleet::start(example, processes, &[]).await;
    let path = charge(ORDER);
    let mut requests = JoinSet::new();
    for service in &fleet.services {
        for _ in 0..REQUESTS_TO_EACH {
            let (addr, path) = (service.addr(), path.clone());
            requests.spawn(async move { post(addr, &path).await });
        }
    }

    let mut charged = 0;
    for reply in requests.join_all().await {
        let reply = reply.unwrap_or_else(|error| panic!("no answer: {error}\n{}", fleet.said()));
        match reply.status {
            200 => {
                let receipt = format!(r#"{{"resource":"order:{ORDER}","validity_left_ms":"#);
                assert!(reply.body.starts_with(&receipt), "{reply:?}");
                charged += 1;
            }
            423 => {}
            _ => panic!("{reply:?}\n{}", fleet.said()),
        }
    }
    assert!(charged > 0, "nobody was charged");
    assert_eq!(check_no_overlap(fleet.journal()), Ok(charged));
    fleet.nodes.assert_no_lock_keys(LONG).await;
}
