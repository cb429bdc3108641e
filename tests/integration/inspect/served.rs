//! The documents over HTTP, by each framework.

use std::net::{SocketAddr, TcpListener};

use redlock_inspect::{Document, HEADERS};
use redlock_runtime::lock;
use redlock_runtime::registry::Registry;
use redlock_tests::{HttpReply, http_request};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::in_memory;

/// Serves the documents below `mount` until the end of the test.
type Serve = fn(TcpListener, mount: &'static str, &Registry);

/// What is served, by its path.
type Documents = [(&'static str, fn(&Registry) -> Document); 3];

fn axum(listener: TcpListener, mount: &'static str, registry: &Registry) {
    listener.set_nonblocking(true).expect("a socket");
    let app = redlock_inspect::axum_router(mount, registry);
    let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
    tokio::spawn(async move { axum::serve(listener, app).await });
}

fn actix(listener: TcpListener, mount: &'static str, registry: &Registry) {
    let registry = registry.clone();
    // Ends with the process.
    std::thread::spawn(move || {
        let scope = move || redlock_inspect::actix_scope(mount, &registry);
        let app = move || actix_web::App::new().service(scope());
        let server = actix_web::HttpServer::new(app).workers(1).disable_signals();
        let server = server.listen(listener).expect("a listener");
        actix_web::rt::System::new().block_on(server.run())
    });
}

fn serve(by: Serve, mount: &'static str, registry: &Registry) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let addr = listener.local_addr().expect("an address");
    by(listener, mount, registry);
    addr
}

async fn get(addr: SocketAddr, path: &str) -> HttpReply {
    http_request(addr, "GET", path, "")
        .await
        .expect("an answer")
}

/// The status of a request whose answer has no body.
async fn head(addr: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(addr).await.expect("a server");
    let request = format!("HEAD {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    let request = stream.write_all(request.as_bytes());
    request.await.expect("a connection");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).await.expect("an answer");
    assert!(reply.ends_with("\r\n\r\n"), "{reply}");
    reply.split(' ').nth(1).expect("a status").to_owned()
}

async fn serves_each_document(by: Serve) {
    let redlock = in_memory().await;
    let registry = redlock.registry();
    let _entered = registry.enter();
    let _lease = lock("order:42").acquire().await.unwrap();
    let addr = serve(by, "/locks", registry);
    let documents: Documents = [
        ("/locks/health", redlock_inspect::health),
        ("/locks/held", redlock_inspect::held),
        ("/locks/sites", redlock_inspect::sites),
    ];
    for (path, document) in documents {
        let reply = get(addr, path).await;
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(reply.header("content-type"), Some("application/json"));
        // Times differ, and the beginning has none.
        let of = |text: &str| text.lines().take(3).collect::<String>();
        assert_eq!(of(&reply.body), of(&document(registry).body));
        assert_eq!(head(addr, path).await, "200", "{path}");
    }
    for (path, link) in [("/locks", "./locks/held"), ("/locks/", "./held")] {
        let reply = get(addr, path).await;
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(
            reply.header("content-type"),
            Some("text/html; charset=utf-8")
        );
        for (name, value) in HEADERS {
            assert_eq!(reply.header(name), Some(value), "{path}");
        }
        let page = reply.body;
        assert!(page.contains(&format!("href=\"{link}\"")), "{page}");
        let refresh = "http-equiv=\"refresh\"";
        assert!(!page.contains(refresh), "{page}");
        let live = get(addr, &format!("{path}?live")).await.body;
        assert!(live.contains(refresh), "{live}");
        assert_eq!(head(addr, path).await, "200", "{path}");
    }
    let status = async |method, path| http_request(addr, method, path, "").await.unwrap().status;
    assert_eq!(status("POST", "/locks/held").await, 405);
    assert_eq!(status("GET", "/locks/nothing").await, 404);
    assert_eq!(get(serve(by, "", registry), "/held").await.status, 200);

    for pool in ["a", "b"] {
        registry.memory_node(pool).unwrap().cut();
    }
    assert_eq!(get(addr, "/locks/health").await.status, 503);
    assert_eq!(head(addr, "/locks/health").await, "503");
}

#[tokio::test]
async fn axum_serves_each_document() {
    serves_each_document(axum).await;
}

#[tokio::test]
async fn actix_serves_each_document() {
    serves_each_document(actix).await;
}
