//! Handlers of web frameworks, in process and behind real sockets.

use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, redlock};
use redlock_tests::http_post;

#[redlock(resource = "order:{id}", retry_count = 0)]
async fn charged(id: u64) -> Result<String, LockError> {
    Ok(format!("order {id} charged"))
}

mod with_axum {
    use axum::Router;
    use axum::extract::Path;
    use axum::routing::post;

    use super::*;

    #[redlock(resource = "order:{id}", retry_count = 0)]
    async fn charge(Path(id): Path<u64>) -> Result<String, LockError> {
        Ok(format!("order {id} charged"))
    }

    fn app() -> Router {
        Router::new().route("/orders/{id}/charge", post(charge))
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_server_finds_the_registry() {
        let locks = TestLocks::new();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let server = tokio::spawn(async { axum::serve(listener, app()).await });
        let (status, body) = http_post(addr, "/orders/42/charge").await.unwrap();
        assert_eq!((status, body.as_str()), (200, "order 42 charged"));
        locks.assert_locked("order:42");
        let _hold = locks.hold("order:42");
        let (status, _) = http_post(addr, "/orders/42/charge").await.unwrap();
        assert_eq!(status, 423);
        server.abort();
    }
}

mod with_actix {
    use actix_web::test::{TestRequest, call_service, init_service};
    use actix_web::{App, HttpServer, post, web};

    use super::*;

    #[post("/orders/{id}/charge")]
    #[redlock(resource = "order:{id}", retry_count = 0)]
    async fn charge(id: web::Path<u64>) -> Result<String, LockError> {
        Ok(format!("order {id} charged"))
    }

    #[actix_web::test]
    async fn a_service_finds_the_registry() {
        let locks = TestLocks::new();
        let app = init_service(App::new().service(charge)).await;
        let request = || TestRequest::post().uri("/orders/42/charge").to_request();
        assert_eq!(call_service(&app, request()).await.status(), 200);
        locks.assert_locked("order:42");
        let _hold = locks.hold("order:42");
        assert_eq!(call_service(&app, request()).await.status(), 423);
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
