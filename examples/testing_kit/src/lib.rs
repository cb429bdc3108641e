//! Tests of a service that locks, with the kit of the feature `testing`. They need no server.
//!
//! ```sh
//! cargo test -p redlock-testing-kit-example
//! ```

use std::time::Duration;

use axum::Router;
use axum::extract::Path;
use axum::routing::post;
use redlock_runtime::{LockError, redlock};

/// Returns the service's routes. Its `main` serves them, and its tests send them requests.
pub fn app() -> Router {
    Router::new().route("/orders/{id}/charge", post(charge))
}

/// Charges an order.
#[redlock(resource = "order:{id}", ttl = "10s", retry_count = 0)]
async fn charge(Path(id): Path<u64>) -> Result<String, LockError> {
    tokio::time::sleep(Duration::from_millis(10)).await;
    Ok(format!("order {id} charged"))
}

/// Rebuilds the index, one part a second. Returns the number of parts that are done.
#[redlock(resource = "index", ttl = "30s", max_hold = "1h", guard = lease)]
pub async fn reindex(parts: u32) -> Result<u32, LockError> {
    for part in 0..parts {
        tokio::select! {
            biased;
            () = lease.expiring() => return Ok(part),
            () = tokio::time::sleep(Duration::from_secs(1)) => {}
        }
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use axum::body::Body;
    use axum::http::Request;
    use redlock_runtime::testing::TestLocks;
    use tower::ServiceExt as _;

    use super::*;

    async fn status_of_a_charge() -> u16 {
        let request = Request::post("/orders/42/charge").body(Body::empty());
        let response = app().oneshot(request.unwrap()).await.unwrap();
        response.status().as_u16()
    }

    #[tokio::test]
    async fn a_charge_locks_its_order_and_releases_it() {
        let locks = TestLocks::new(); // three nodes in memory, for this test alone
        assert_eq!(status_of_a_charge().await, 200);
        locks.assert_locked("order:42");
        locks.assert_all_free();
    }

    #[tokio::test]
    async fn an_order_that_another_process_has_is_answered_423() {
        let locks = TestLocks::new();
        let hold = locks.hold("order:42");
        assert_eq!(status_of_a_charge().await, 423);
        hold.release();
        assert_eq!(status_of_a_charge().await, 200);
    }

    #[tokio::test]
    async fn one_node_down_changes_nothing_and_all_down_is_503() {
        let locks = TestLocks::new();
        locks.node("a").cut();
        assert_eq!(status_of_a_charge().await, 200);
        locks.cut_all();
        assert_eq!(status_of_a_charge().await, 503);
    }

    // A paused clock jumps to what is due next, so minutes pass at once.
    #[tokio::test(start_paused = true)]
    async fn a_long_reindex_is_renewed_to_its_end() {
        let locks = TestLocks::new();
        assert_eq!(reindex(600).await.unwrap(), 600);
        locks.assert_all_free();
    }

    #[tokio::test(start_paused = true)]
    async fn a_reindex_that_cannot_be_renewed_stops_before_its_lock_ends() {
        let locks = TestLocks::new();
        let running = tokio::spawn(reindex(600));
        locks.until_held("index").await;
        locks.cut_all();
        let done = running.await.unwrap().unwrap();
        assert!((1..30).contains(&done), "{done} parts");
    }

    #[tokio::test(start_paused = true)]
    async fn a_reindex_whose_lock_was_deleted_is_cancelled() {
        let locks = TestLocks::new();
        let running = tokio::spawn(reindex(600));
        locks.until_held("index").await;
        locks.lose("index");
        assert!(running.await.unwrap().unwrap_err().is_lost());
    }
}
