//! What an HTTP client is told for each kind of error, by both frameworks, over a real connection.
//! Nothing in this program may call `init`.

mod scene;
mod servers;

use std::time::Duration;

use redlock_runtime::lock;
use redlock_tests::{HttpReply, eventually, http_request};

use scene::{ALL, Scene, What};
use servers::Server;

/// How long a test waits for something that takes milliseconds, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

const LOCKED: &str = "Another request is working on this right now. Try again later.";
const UNAVAILABLE: &str = "The service cannot take this request right now. Try again later.";
const LOST: &str = "The request was stopped before it was done; part of it may have taken effect.";
const NOT_SET_UP: &str = "The service is not set up for this request.";

async fn ask(server: &Server, what: What) -> HttpReply {
    let path = format!("/{what:?}");
    http_request(server.addr(), "POST", &path, "")
        .await
        .unwrap()
}

/// The whole answer, but for headers that every answer has: so it says nothing else.
fn assert_problem(reply: &HttpReply, status: u16, title: &str, detail: &str) {
    assert_eq!(reply.status, status, "{reply:?}");
    let media_type = reply.header("content-type");
    assert_eq!(media_type, Some("application/problem+json"), "{reply:?}");
    let body: serde_json::Value = serde_json::from_str(&reply.body).expect("JSON");
    let expected = serde_json::json!({
        "type": "about:blank",
        "title": title,
        "status": status,
        "detail": detail,
    });
    assert_eq!(body, expected);
    let usual = [
        "content-type",
        "content-length",
        "retry-after",
        "date",
        "connection",
    ];
    let headers = reply.headers.iter().map(|(name, _)| &**name);
    let others: Vec<_> = headers.filter(|name| !usual.contains(name)).collect();
    assert!(others.is_empty(), "{others:?}");
}

fn retry_after(reply: &HttpReply) -> Option<u64> {
    reply
        .header("retry-after")
        .map(|after| after.parse().unwrap())
}

/// The lock is held for an hour, and the test takes less than ten minutes.
fn assert_is_rest_of_an_hour(reply: &HttpReply) {
    let after = retry_after(reply);
    assert!((Some(3000)..=Some(3600)).contains(&after), "{reply:?}");
}

#[tokio::test]
async fn a_held_lock_is_a_423_with_its_remaining_ttl() {
    let scene = Scene::start(None).await;
    for server in Server::both(&scene).await {
        let reply = ask(&server, What::HeldForLong).await;
        assert_problem(&reply, 423, "Locked", LOCKED);
        assert_is_rest_of_an_hour(&reply);

        let reply = ask(&server, What::HeldForEver).await;
        assert_problem(&reply, 423, "Locked", LOCKED);
        assert_eq!(retry_after(&reply), Some(1), "nothing is known of the end");
    }
}

#[tokio::test]
async fn a_job_that_ran_in_its_period_has_the_status_of_a_held_lock() {
    let scene = Scene::start(None).await;
    for server in Server::both(&scene).await {
        let reply = ask(&server, What::AlreadyRun).await;
        let detail = "This was done already a short while ago. Try again later.";
        assert_problem(&reply, 423, "Locked", detail);
        let rest = retry_after(&reply).unwrap();
        assert!(
            (3200..=3240).contains(&rest),
            "the rest of the period: {rest}"
        );
    }
}

#[tokio::test]
async fn the_status_of_a_held_lock_is_configurable() {
    for (status, title) in [
        (409, "Conflict"),
        (429, "Too Many Requests"),
        (503, "Service Unavailable"),
        (451, "Unavailable For Legal Reasons"),
        (599, "Not Available"),
    ] {
        let scene = Scene::start(Some(status)).await;
        for server in Server::both(&scene).await {
            let reply = ask(&server, What::HeldForLong).await;
            assert_problem(&reply, status, title, LOCKED);
            assert_is_rest_of_an_hour(&reply);
            // That of the others stays.
            let reply = ask(&server, What::NoNodes).await;
            assert_eq!(reply.status, 503);
        }
    }
}

#[tokio::test]
async fn what_is_this_services_trouble_is_a_503() {
    let scene = Scene::start(None).await;
    for server in Server::both(&scene).await {
        for (what, detail) in [
            (What::NoNodes, UNAVAILABLE),
            (What::ShuttingDown, UNAVAILABLE),
            (What::Lost, LOST),
            (What::CutOffByShutdown, LOST),
        ] {
            let reply = ask(&server, what).await;
            assert_problem(&reply, 503, "Service Unavailable", detail);
            assert_eq!(retry_after(&reply), Some(1), "{what:?}");
        }
    }
}

/// As after a restart of two of three servers that write nothing down.
#[tokio::test]
async fn the_end_of_a_quarantine_is_the_time_for_a_retry() {
    let (nodes, redlock) = crate::runtime::fixture::start(3).await;
    let registry = redlock.registry();
    for (node, count) in nodes.iter().zip(1..=2) {
        node.restart().await;
        eventually("the quarantine", SOON, async || {
            let health = registry.health();
            let told: Vec<_> = health.iter().map(|it| &it.status).collect();
            let told = format!("{told:?}");
            let waiting = told.matches("it votes again within").count();
            (waiting == count).then_some(()).ok_or(told)
        })
        .await;
    }
    let error = registry.clone().scope(lock("quarantined").acquire());
    let error = error.await.unwrap_err();
    let by_axum = axum::response::IntoResponse::into_response(error.clone());
    let by_actix = actix_web::ResponseError::error_response(&error);
    let after = by_axum.headers().get("retry-after").unwrap();
    let after: u64 = after.to_str().unwrap().parse().unwrap();
    let actix_after = by_actix.headers().get("retry-after").unwrap();
    assert_eq!(actix_after.to_str().unwrap(), after.to_string());
    assert_eq!(by_axum.status(), 503);
    // `max_ttl` and a margin, and a busy machine.
    assert!((250..320).contains(&after), "{after} s: {error}");
    redlock.shutdown().await;
}

#[tokio::test]
async fn what_a_programmer_has_to_mend_is_a_500_without_retry_after() {
    let scene = Scene::start(None).await;
    for server in Server::both(&scene).await {
        for what in [
            What::NotInitialized,
            What::UnknownPool,
            What::TooLongTtl,
            What::BadName,
            What::UnservedByTheHolderAbove,
        ] {
            let reply = ask(&server, what).await;
            assert_problem(&reply, 500, "Internal Server Error", NOT_SET_UP);
            assert_eq!(retry_after(&reply), None, "{what:?}");
        }
    }
}

/// So an error type around it can answer as the built-in response does.
#[tokio::test]
async fn the_error_itself_says_what_its_response_says() {
    let scene = Scene::start(Some(409)).await;
    let [server, _] = Server::both(&scene).await;
    for &what in ALL {
        let error = scene.play(what).await.unwrap_err();
        let reply = ask(&server, what).await;
        assert_eq!(error.http_status(), reply.status, "{what:?}");
        let body: serde_json::Value = serde_json::from_str(&reply.body).expect("JSON");
        assert_eq!(error.public_message(), body["detail"], "{what:?}");
        assert!(!error.public_message().contains("internal"));
        let is_advised = error.retry_after().is_some();
        assert_eq!(is_advised, retry_after(&reply).is_some(), "{what:?}");
    }
}

async fn ask_kind(server: &Server, kind: &str, key: &str) -> HttpReply {
    let path = format!("/kinds/{kind}/{key}");
    http_request(server.addr(), "POST", &path, "")
        .await
        .unwrap()
}

#[tokio::test]
async fn a_handler_of_an_opaque_type_answers_the_same() {
    let scene = Scene::start(None).await;
    for server in Server::both(&scene).await {
        let reply = ask_kind(&server, "bare", "long").await;
        assert_problem(&reply, 423, "Locked", LOCKED);

        let reply = ask_kind(&server, "opaque", "free").await;
        assert_eq!((reply.status, &*reply.body), (200, "done with free"));
        let media_type = reply.header("content-type").unwrap();
        assert!(media_type.starts_with("text/html"), "{media_type}");

        let reply = ask_kind(&server, "opaque", "long").await;
        assert_problem(&reply, 423, "Locked", LOCKED);
        assert_is_rest_of_an_hour(&reply);
    }
}

#[tokio::test]
async fn an_error_type_decides_itself_how_it_looks() {
    let scene = Scene::start(None).await;
    let [axum, actix] = Server::both(&scene).await;
    let reply = ask_kind(&axum, "own_error", "long").await;
    assert_eq!((reply.status, &*reply.body), (418, ""));
    // A response is an error of its own too, and the whole of it.
    let reply = ask_kind(&actix, "own_error", "long").await;
    assert_problem(&reply, 423, "Locked", LOCKED);
    for server in [axum, actix] {
        let reply = ask_kind(&server, "own_error", "free").await;
        assert_eq!((reply.status, &*reply.body), (200, "done with free"));
    }
}

#[tokio::test]
async fn a_status_and_a_text_are_those_of_the_response() {
    for (status, expected) in [(None, 423), (Some(409), 409)] {
        let scene = Scene::start(status).await;
        let servers = Server::both(&scene).await;
        for server in &servers {
            let reply = ask_kind(server, "text", "long").await;
            assert_eq!((reply.status, &*reply.body), (expected, LOCKED));
            let media_type = reply.header("content-type").unwrap();
            assert!(media_type.starts_with("text/plain"), "{media_type}");
            let reply = ask_kind(server, "text", "free").await;
            assert_eq!((reply.status, &*reply.body), (200, "done with free"));
        }
        let reply = ask_kind(&servers[0], "status", "long").await;
        assert_eq!((reply.status, &*reply.body), (expected, ""));
    }
}
