//! What the log says of functions and processes that disagree about the number of permits.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use redlock_runtime::testing::TestLocks;
use redlock_runtime::{LockError, lock, redlock};

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
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

#[redlock(resource = "reports:{id}", permits = 4)]
async fn four(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "reports:{id}")]
async fn plain(id: u64) -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "alike", permits = 4)]
async fn one_of_four() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "alike", permits = 4, take = 2)]
async fn two_of_four() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "single", permits = 1)]
async fn one_permit() -> Result<(), LockError> {
    Ok(())
}

#[redlock(resource = "single")]
async fn no_permits() -> Result<(), LockError> {
    Ok(())
}

#[tokio::test]
async fn functions_and_processes_that_disagree_are_named() {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_writer(move || writer.clone())
        .with_ansi(false)
        .finish();
    tracing::subscriber::set_global_default(subscriber).expect("the only one");

    let config = redlock_runtime::Config::new().pool("a", "memory://a");
    let redlock = redlock_runtime::init(config).await.unwrap();
    redlock.shutdown().await;
    let text = lines.text();
    let warned = |name: &str| {
        let lines = text.lines();
        lines
            .filter(|line| line.contains("give both the same `permits`") && line.contains(name))
            .count()
    };
    assert_eq!(warned("reports:{id}"), 1, "{text}");
    assert_eq!((warned("alike"), warned("single")), (0, 0), "{text}");

    let locks = TestLocks::new();
    for name in ["a", "b", "c"] {
        let ttl = Duration::from_secs(60);
        locks
            .node(name)
            .put(b"redlock:permits:{workers}", b"8 web-8/12", ttl);
    }
    let lease = lock("workers").permits(4).acquire().await.unwrap();
    let text = lines.text();
    let told = text
        .lines()
        .find(|line| line.contains("processes disagree about the number of permits"));
    let told = told.unwrap_or_else(|| panic!("{text}"));
    for part in ["workers", "permits=4", "other_permits=8", "web-8/12"] {
        assert!(told.contains(part), "{part}: {told}");
    }
    lease.release().await;
    let _ = (
        four(1),
        plain(1),
        one_of_four(),
        two_of_four(),
        one_permit(),
        no_permits(),
    );
}
