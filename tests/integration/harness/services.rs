//! Services and requests to them.

use crate::harness::LONG;
use redlock_tests::{Service, http_post, http_request};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

#[tokio::test]
async fn a_service_is_ready_at_its_line_and_ends_on_a_signal() {
    let script = "echo starting; echo \"listening on 127.0.0.1:80 $NAME\"; \
                  trap 'echo bye >&2; exit 3' TERM; echo trapped; \
                  while :; do sleep 0.01; done";
    let args = ["-c", script];
    let service = Service::spawn_with_args("sh", args, [("NAME", "x")], "listening on ").await;
    assert_eq!(service.ready(), "127.0.0.1:80 x");
    assert_eq!(service.addr().port(), 80);
    assert!(service.is_running());
    service.wait_for_line("trapped", LONG).await;
    service.signal(redlock_tests::Signal::TERM);
    assert_eq!(service.wait(LONG).await.code(), Some(3));
    service.wait_for_line("bye", LONG).await;
    assert!(service.output().starts_with("starting\n"));
}

#[tokio::test]
async fn a_service_without_its_line_is_shown_with_what_it_said() {
    let args = ["-c", "echo no such luck; exit 1"];
    let envs = [("NAME", "x")];
    let starting = Service::spawn_with_args("sh", args, envs, "listening");
    let failed = tokio::spawn(starting).await.unwrap_err();
    let message = failed.into_panic().downcast::<String>().unwrap();
    assert!(message.contains("no such luck"), "{message}");
}

#[tokio::test]
async fn an_http_request_returns_status_headers_and_body() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap();
    let serving = tokio::spawn(async move {
        let mut heads = Vec::new();
        for _ in 0..2 {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(stream.read_u8().await.unwrap());
            }
            heads.push(String::from_utf8(head).unwrap());
            let reply = "HTTP/1.1 423 Locked\r\nRetry-After: 2\r\nContent-Length: 4\r\n\r\nheld";
            stream.write_all(reply.as_bytes()).await.unwrap();
        }
        heads
    });
    assert_eq!(
        http_post(addr, "/a?b=c").await.unwrap(),
        (423, "held".into())
    );
    let reply = http_request(addr, "GET", "/", "").await.unwrap();
    assert_eq!(reply.header("retry-after"), Some("2"));
    let heads = serving.await.unwrap();
    assert!(heads[0].starts_with("POST /a?b=c HTTP/1.1\r\n"));
    assert!(heads[1].starts_with("GET / HTTP/1.1\r\n"));
    assert!(http_post(addr, "/").await.is_err());
}
