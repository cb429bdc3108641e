//! A program that calls `init` and no shutdown, with an attribute that says the ttl and three pools.
//!
//! `only_init work` is in the body again and again, `only_init panic` returns from it once and then panics
//! in it, and `only_init hold` stays in it. `only_init wait` stays in it until `shutdown_signal()`, and
//! `only_init after` until `shutdown_after` cancels it.

use std::error::Error;
use std::future::pending;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use redlock_runtime::{Config, LockError, redlock, shutdown_signal};
use redlock_tests::CriticalLog;

#[redlock(resource = "order:{order_id}", ttl = 60_000, pools = ["a", "b", "c"])]
async fn charge(order_id: u64, mode: &str) -> Result<(), LockError> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    match mode {
        "work" => {
            let log = CriticalLog::open(std::env::var_os("ORDERS_LOG").expect("a path"));
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let id = format!("{}-{number}", std::process::id());
            log.enter(&id);
            tokio::time::sleep(Duration::from_millis(1)).await;
            log.leave(&id);
        }
        "return" => {}
        "panic" => panic!("in the body"),
        _ => {
            println!("held");
            pending::<()>().await;
        }
    }
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(io::stderr)
        .with_ansi(false)
        .init();
    let redlock = redlock_runtime::init(Config::load()?).await?;
    let mode = std::env::args().nth(1).unwrap_or_default();
    match &*mode {
        "work" => {
            println!("works");
            while charge(7, "work").await.is_ok() {}
        }
        "panic" => {
            charge(7, "return").await?;
            tokio::spawn(charge(7, "panic")).await.expect_err("a panic");
            println!("panicked");
        }
        "wait" => {
            let (_, report) = redlock
                .shutdown_after(async {
                    // On a busy machine the lock can be acquired in the first poll. So the signal is awaited before it.
                    tokio::select! {
                        biased;
                        () = shutdown_signal() => {}
                        _ = charge(7, "hold") => {}
                    }
                })
                .await;
            println!("shut down: {report}");
            return Ok(());
        }
        "after" => {
            let (_, report) = redlock.shutdown_after(charge(7, "hold")).await;
            println!("shut down: {report}");
            return Ok(());
        }
        _ => charge(7, "hold").await?,
    }
    pending().await
}
