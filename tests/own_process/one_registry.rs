//! One global registry for several runtimes: two tests, each with a runtime of its own, and the
//! workers of an actix server.

use std::sync::OnceLock;
use std::time::Duration;

use redlock_runtime::config::RestartCheck;
use redlock_runtime::error::ProblemKind;
use redlock_runtime::{Config, LockError, Redlock, init, redlock};
use redlock_tests::{Lines, Nodes, http_post};
use tokio::sync::OnceCell;

/// No node is so slow, on a busy machine either.
const SOON: Duration = Duration::from_secs(20);

static NODES: OnceLock<Nodes> = OnceLock::new();

/// Whichever test comes first starts the nodes and the registry, on its own runtime.
async fn registry() -> &'static Redlock {
    static REDLOCK: OnceCell<Redlock> = OnceCell::const_new();
    REDLOCK
        .get_or_init(|| async {
            let nodes = Nodes::start(3).await;
            // The restart check would keep a node away that was slow while its set was new.
            let config = Config::new()
                .node_timeout(SOON)
                .connect_timeout(SOON)
                .restart_check(RestartCheck::Off);
            let pools = nodes.urls().into_iter().zip('a'..);
            let config = pools.fold(config, |config, (url, name)| config.pool(name, url));
            NODES.set(nodes).map_err(|_| ()).expect("started once");
            init(config).await.expect("a good configuration")
        })
        .await
}

/// All tests want it at once, and may take long on a busy machine. A caller gives up after two retries without an answer,
/// so the retries take longer than the nodes need to move from a runtime that has ended.
#[redlock(resource = "counter", wait = "5m", retry_delay = "500ms")]
async fn enter() -> Result<(), LockError> {
    tokio::task::yield_now().await;
    Ok(())
}

/// Its ttl is known at the call only, so `init` must not hold the default ttl of 60 s against it.
#[redlock(resource = "own", ttl = ttl, max_hold = "20s")]
async fn has_a_ttl_of_its_own(ttl: Duration) -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn init_does_not_judge_a_ttl_that_is_an_expression() {
    registry().await;
    let seconds = Duration::from_secs;
    has_a_ttl_of_its_own(seconds(10)).await.unwrap();
    let error = has_a_ttl_of_its_own(seconds(30)).await.unwrap_err();
    assert!(error.to_string().contains("max_hold"), "{error}");
}

async fn works() {
    let redlock = registry().await;
    for _ in 0..5 {
        enter().await.unwrap();
    }
    assert_eq!(redlock.registry().votes().voting, 3);
}

#[tokio::test]
async fn one_runtime() {
    works().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_runtime() {
    works().await;
}

#[test]
fn runtimes_one_after_the_other() {
    for _ in 0..3 {
        tokio::runtime::Runtime::new().unwrap().block_on(works());
    }
}

/// Takes what this thread logs, until the guard is dropped.
fn logged_here() -> (Lines, tracing::subscriber::DefaultGuard) {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .finish();
    (lines, tracing::subscriber::set_default(subscriber))
}

#[tokio::test]
async fn a_second_init_is_refused() {
    registry().await;
    // A registry that never began has no end to tell of.
    let (lines, _logged) = logged_here();
    let error = init(Config::new().pool("a", "memory://a"))
        .await
        .map(|_| ())
        .unwrap_err();
    assert!(error.to_string().contains("running already"), "{error}");
    assert_eq!(error.problems()[0].kind, ProblemKind::AlreadyRunning);
    tracing::info!("refused");
    let text = lines.text();
    assert!(text.contains("refused"), "{text}");
    assert!(!text.contains("shuts down"), "{text}");
    enter().await.unwrap();
}

/// With `let _ = init(…)`, the server of the README ends at once, and no call tells why.
#[tokio::test]
async fn the_log_says_that_a_registry_was_dropped() {
    let (lines, _logged) = logged_here();
    let start = async || {
        let config = Config::new().pool("a", "memory://a");
        Redlock::start(config).await.unwrap()
    };
    let told = || {
        lines
            .text()
            .matches("the `Redlock` from `init` was dropped")
            .count()
    };
    start().await.shutdown().await;
    assert!(lines.text().contains("shuts down"), "{}", lines.text());
    assert_eq!(told(), 0, "{}", lines.text());
    drop(start().await);
    assert_eq!(told(), 1, "{}", lines.text());
}

#[actix_web::test]
async fn actix_with_several_workers() {
    use actix_web::{App, HttpServer, web};

    async fn handle() -> Result<&'static str, LockError> {
        enter().await?;
        Ok("done")
    }

    registry().await;
    let server = HttpServer::new(|| App::new().route("/", web::post().to(handle)))
        .workers(3)
        .disable_signals()
        .bind("127.0.0.1:0")
        .unwrap();
    let addr = server.addrs()[0];
    let server = server.run();
    let handle = server.handle();
    let running = tokio::spawn(server);
    let requests: Vec<_> = (0..30)
        .map(|_| tokio::spawn(http_post(addr, "/")))
        .collect();
    for request in requests {
        let (status, body) = request.await.unwrap().unwrap();
        assert_eq!((status, body.as_str()), (200, "done"));
    }
    handle.stop(true).await;
    running.await.unwrap().unwrap();
}
