//! Threads that are not the test's: workers of actix, and blocking ones.

use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, redlock};
use redlock_tests::http_post;

#[redlock(resource = "order:{id}", retry_count = 0)]
async fn charged(id: u64) -> Result<String, LockError> {
    Ok(format!("order {id} charged"))
}

mod with_actix {
    use actix_web::{App, HttpServer, post, web};

    use super::*;

    #[post("/orders/{id}/charge")]
    #[redlock(resource = "order:{id}", retry_count = 0)]
    async fn charge(id: web::Path<u64>) -> Result<String, LockError> {
        Ok(format!("order {id} charged"))
    }

    #[actix_web::test]
    async fn the_workers_of_a_server_find_the_registry_once_they_are_attached() {
        let locks = TestLocks::new();
        let for_workers = locks.clone();
        let app = move || {
            for_workers.attach();
            App::new().service(charge)
        };
        let server = HttpServer::new(app).workers(2).disable_signals();
        let server = server.bind("127.0.0.1:0").unwrap();
        let addr = server.addrs()[0];
        let server = server.run();
        let handle = server.handle();
        let running = tokio::spawn(server);
        for id in 0..6 {
            let (status, _) = http_post(addr, &format!("/orders/{id}/charge"))
                .await
                .unwrap();
            assert_eq!(status, 200);
            locks.assert_locked(format!("order:{id}"));
        }
        handle.stop(true).await;
        running.await.unwrap().unwrap();
        locks.assert_all_free();
    }
}

/// Handlers that do their work on a thread for blocking code.
#[tokio::test]
async fn a_blocking_thread_of_the_runtime_finds_the_registry() {
    let locks = TestLocks::new();
    let runtime = tokio::runtime::Handle::current();
    let blocking = tokio::task::spawn_blocking(move || runtime.block_on(charged(1)));
    blocking.await.unwrap().unwrap();
    locks.assert_locked("order:1");
}
