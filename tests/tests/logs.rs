//! What is logged, and what is not. In a binary of its own: it takes every log line of the process.

use std::io::Write;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use redlock_runtime::{Config, LockError, Redlock, RestartGuard, lock, redlock};
use redlock_tests::{NodeOptions, RedisNode, eventually};

const SOON: Duration = Duration::from_secs(20);

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }

    async fn until(&self, hint: &str) {
        eventually("the log line", SOON, || async {
            let text = self.text();
            if text.contains(hint) {
                Ok(())
            } else {
                Err(format!("no `{hint}` in\n{text}"))
            }
        })
        .await;
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Everything that this process logs, at every level.
fn lines() -> &'static Lines {
    static LINES: OnceLock<Lines> = OnceLock::new();
    LINES.get_or_init(|| {
        let lines = Lines::default();
        let writer = lines.clone();
        tracing_subscriber::fmt()
            .with_max_level(tracing_subscriber::filter::LevelFilter::TRACE)
            .with_ansi(false)
            .with_writer(move || writer.clone())
            .init();
        lines
    })
}

#[redlock(resource = "late:{id}", ttl = 1000)]
async fn waits_forever(id: u64) -> Result<u64, LockError> {
    std::future::pending::<()>().await;
    Ok(id)
}

#[tokio::test]
async fn a_pool_in_memory_is_logged_as_a_warning() {
    let lines = lines();
    let redlock = Redlock::start(Config::new().pool("in-memory", "memory://m"))
        .await
        .unwrap();
    let text = lines.text();
    let line = text
        .lines()
        .find(|line| line.contains("pool=\"in-memory\""))
        .expect(&text);
    assert!(
        line.contains("WARN") && line.contains("excludes no other process"),
        "{line}"
    );
    redlock.shutdown().await;
}

#[tokio::test]
async fn no_line_has_a_password_or_a_whole_token() {
    let lines = lines();
    let node = RedisNode::start_with(NodeOptions::default().password("s3cret")).await;
    let wrong = node
        .url()
        .replace("s3cret", "wr0ng")
        .replace("127.0.0.1", "localhost");
    // One of the two is never reached, so whether they are a new set would not be known.
    let config = Config::new()
        .pool("right", node.url())
        .pool("wrong", wrong)
        .restart_guard(RestartGuard::Off);
    let redlock = Redlock::start(config.default_pools(["right"]))
        .await
        .unwrap();
    let registry = redlock.registry().clone();
    lines.until("WRONGPASS").await;

    registry
        .clone()
        .scope(async {
            let lease = lock("shown").acquire().await.unwrap();
            let token = String::from_utf8(node.get("shown").unwrap()).unwrap();
            let refused = lock("shown")
                .retry_count(0)
                .acquire()
                .await
                .map(|_| ())
                .unwrap_err();
            lease.release().await;
            let lost = waits_forever(1).await.unwrap_err();
            let random = token.rsplit('/').next().unwrap().to_owned();
            for text in [
                format!("{refused:?} {refused}"),
                format!("{lost:?}"),
                lines.text(),
            ] {
                assert!(!text.contains(&random) && !text.contains(&token), "{text}");
            }
            assert!(
                lines
                    .text()
                    .contains(&format!("token=\"{}\"", &random[..6]))
            );
        })
        .await;
    node.kill();
    lines.until("node not connected").await;
    redlock.shutdown().await;

    let text = lines.text();
    for secret in ["s3cret", "wr0ng"] {
        assert!(!text.contains(secret), "{text}");
    }
    assert!(text.contains("lost: the body was cancelled"), "{text}");
}
