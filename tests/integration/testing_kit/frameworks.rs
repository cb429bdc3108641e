//! Workers of actix, each with a runtime of its own.

use actix_web::{App, HttpServer, post, web};
use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, redlock};
use redlock_tests::http_post;

#[post("/orders/{id}/charge")]
#[redlock(resource = "order:{id}", retry_count = 0)]
async fn charge(id: web::Path<u64>) -> Result<String, LockError> {
    Ok(format!("order {id} charged"))
}

#[actix_web::test]
async fn the_workers_of_a_server_find_the_attached_registry() {
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
        let reply = http_post(addr, &format!("/orders/{id}/charge")).await;
        assert_eq!(reply.unwrap().0, 200);
        locks.assert_locked(format!("order:{id}"));
    }
    handle.stop(true).await;
    running.await.unwrap().unwrap();
    locks.assert_all_free();
}
