//! A background worker that holds its lock for as long as it works. Another process goes on where it stopped.
//!
//! ```sh
//! docker compose up -d --wait && cd examples
//! for n in 1 2; do cargo run -q --example worker & done      # one imports, the other waits
//! ```
//!
//! Stop the one that imports by SIGTERM: the other one goes on at once. Kill it: the other one goes on within 10 s.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use redlock_runtime::{Config, LockError, redlock, shutdown_signal};
use tokio::fs;

const BATCHES: u64 = 1000;

/// Imports what is left of a feed. Returns the number of batches that it has imported.
///
/// The library renews the lock every few seconds, for two hours at most, so a short ttl will do. The ttl is how long a
/// killed process keeps the others waiting.
#[redlock(
    resource = "import:{feed}",
    ttl = "10s",
    max_hold = "2h",
    wait = "forever",
    guard = lease
)]
async fn import(feed: &str, progress: &Path) -> Result<u64, ImportError> {
    let begin = read(progress).await?;
    for batch in begin..BATCHES {
        tokio::select! {
            biased;
            // The lock is about to end, or the process shuts down. The next holder goes on from here. A job with
            // `once_per` returns an `Err`, because `Ok` counts as a whole run. A job that ends within the grace period
            // of a shutdown leaves this arm out.
            () = lease.expiring() => return Ok(batch - begin),
            () = load(batch) => {}
        }
        fs::write(progress, (batch + 1).to_string()).await?;
        println!("batch {batch}");
    }
    Ok(BATCHES - begin)
}

/// Loads one batch. `import` drops the call when the lock ends, so a batch must be safe to load again.
async fn load(_batch: u64) {
    tokio::time::sleep(Duration::from_millis(200)).await;
}

async fn read(progress: &Path) -> Result<u64, ImportError> {
    match fs::read_to_string(progress).await {
        Ok(text) => Ok(text.trim().parse().map_err(io::Error::other)?),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error.into()),
    }
}

#[derive(Debug, thiserror::Error)]
enum ImportError {
    #[error(transparent)]
    Lock(#[from] LockError),
    #[error("the progress: {0}")]
    Progress(#[from] io::Error),
}

async fn work(progress: PathBuf) {
    loop {
        match import("catalogue", &progress).await {
            Ok(batches) => println!("imported {batches} batches"),
            Err(ImportError::Lock(error)) if error.is_shutting_down() => return,
            Err(error) => eprintln!("import: {error}"),
        }
        tokio::select! {
            () = tokio::time::sleep(Duration::from_secs(30)) => {}
            () = shutdown_signal() => return,
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let redlock = redlock_runtime::init(Config::load()?).await?;
    println!("working, pid {}", std::process::id());
    let data = std::env::var_os("DATA_DIR").map_or_else(std::env::temp_dir, PathBuf::from);
    let (_, report) = redlock
        .shutdown_after(work(data.join("catalogue.progress")))
        .await;
    println!("{report}");
    Ok(())
}
