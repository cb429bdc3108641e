//! A job that runs once an hour in the whole fleet. Every process has it in its schedule.
//!
//! ```sh
//! docker compose up -d --wait && cd examples
//! for n in 1 2 3; do cargo run -q --example hourly_job & done    # one sends, two skip
//! ```

use std::error::Error;
use std::time::Duration;

use redlock_runtime::{Config, redlock, shutdown_signal};

type BoxError = Box<dyn Error + Send + Sync>;

const HOUR: Duration = Duration::from_secs(3600);

/// Sends what is due. Returns `None` if another process does it now, or has done it in this hour.
///
/// The nodes remember a run that returned `Ok`. After an error or a crash, the next process that asks runs the job
/// again. So a process that starts catches up, and a deployment causes no second run. A run that stops early, as at
/// `expiring()`, must return an error, because `Ok` would count as a whole run.
#[redlock(
    resource = "invoices",
    ttl = "30s",
    max_hold = "30m", // renews the lock, so that it is free 30 s after a crash
    once_per = "1h",
    if_locked = "skip"
)]
async fn send_invoices() -> Result<Option<usize>, BoxError> {
    let invoices = due_invoices();
    for &invoice in &invoices {
        send(invoice).await?;
    }
    Ok(Some(invoices.len()))
}

fn due_invoices() -> Vec<u64> {
    vec![4711, 4712]
}

async fn send(_invoice: u64) -> Result<(), BoxError> {
    tokio::time::sleep(Duration::from_millis(200)).await;
    Ok(())
}

async fn every_hour() {
    let mut hour = tokio::time::interval(HOUR);
    loop {
        tokio::select! {
            _ = hour.tick() => {}
            () = shutdown_signal() => return,
        }
        match send_invoices().await {
            Ok(Some(sent)) => println!("sent {sent} invoices"),
            Ok(None) => println!("skipped: another process has this hour"),
            // The other processes ask in this hour too, so this one waits for the next.
            Err(error) => eprintln!("sent no invoices: {error}"),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let redlock = redlock_runtime::init(Config::load()?).await?;
    // At SIGTERM or Ctrl-C a run has the grace period to finish.
    let (_, report) = redlock.shutdown_after(every_hour()).await;
    println!("{report}");
    Ok(())
}
