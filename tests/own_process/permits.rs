//! What the log says of functions that disagree about the number of permits.

use std::io::Write;
use std::sync::{Arc, Mutex};

use redlock_runtime::{LockError, redlock};

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

#[redlock(resource = "alike", permits = 4)]
async fn another_of_four() -> Result<(), LockError> {
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
async fn functions_that_disagree_are_named() {
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
            .filter(|line| line.contains("let both ask for the same") && line.contains(name))
            .count()
    };
    assert_eq!(warned("reports:{id}"), 1, "{text}");
    assert_eq!((warned("alike"), warned("single")), (0, 0), "{text}");

    let _ = (
        four(1),
        plain(1),
        one_of_four(),
        another_of_four(),
        one_permit(),
        no_permits(),
    );
}
