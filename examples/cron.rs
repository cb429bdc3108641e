//! A job that runs once in the whole fleet, although every process schedules it.
//!
//! Two things make it so. With `if_locked = "skip"`, the process that comes second returns `None` without
//! running. With `once_per`, the nodes remember a run that ended well. So a process that comes late,
//! because its clock is behind or its machine busy, is skipped too. The resource has the number of the
//! turn in it, because the turns of this example are seconds apart and not a period.
//!
//! With the nodes of `compose.yaml`, and as many processes as you like:
//!
//! ```sh
//! docker compose up -d --wait
//! export REDLOCK_POOLS_A_URL=redis://127.0.0.1:7001
//! export REDLOCK_POOLS_B_URL=redis://127.0.0.1:7002
//! export REDLOCK_POOLS_C_URL=redis://127.0.0.1:7003
//! cargo build -p redlock-examples --example cron
//! for n in 1 2 3; do cargo run -q -p redlock-examples --example cron & done
//! ```
//!
//! Each turn is `ran` by one of them and `skipped` by the others. `CRON_EVERY_MS` changes the
//! schedule. Ctrl-C lets a job that runs finish.

use std::error::Error;
use std::io;
use std::time::{Duration, SystemTime};

use redlock_runtime::{Config, LockError, redlock};

/// Which run of the job this is: the same for all processes whose clocks agree to within a period.
fn turn(now: SystemTime, every: Duration) -> Result<u128, Box<dyn Error>> {
    let since_1970 = now.duration_since(SystemTime::UNIX_EPOCH)?;
    Ok(since_1970.as_nanos() / every.as_nanos())
}

/// Remembered for most of an hour: longer than any clock of the fleet is off.
///
/// A job that fails or is cut off half-way is not remembered: the next process that comes to this turn runs it.
#[redlock(
    resource = "report:{turn}",
    ttl = "2m",
    once_per = "1h",
    if_locked = "skip"
)]
async fn report(turn: u128) -> Result<Option<String>, LockError> {
    tokio::time::sleep(Duration::from_millis(20)).await;
    Ok(Some(format!("report {turn}")))
}

async fn run_on_schedule(every: Duration) -> Result<(), Box<dyn Error>> {
    loop {
        let turn = turn(SystemTime::now(), every)? + 1;
        let due = every.as_nanos() * turn;
        let due = SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(due)?);
        // None left, where the machine was too busy.
        let left = due.duration_since(SystemTime::now()).unwrap_or_default();
        tokio::time::sleep(left).await;

        match report(turn).await {
            Ok(Some(report)) => println!("turn {turn}: ran, {report}"),
            Ok(None) => println!("turn {turn}: skipped"),
            Err(error) if error.is_shutting_down() => return Ok(()),
            // Nobody may have run it. The next turn comes.
            Err(error) => println!("turn {turn}: failed, {error}"),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let every = match std::env::var("CRON_EVERY_MS") {
        Ok(ms) => Duration::from_millis(ms.parse::<std::num::NonZeroU64>()?.get()),
        Err(_) => Duration::from_secs(5),
    };
    let redlock = redlock_runtime::init(Config::load()?).await?;
    println!("ready");

    // Not dropped at the signal: a job that runs has the grace period to finish.
    let jobs = tokio::spawn(async move {
        let ended = run_on_schedule(every).await;
        ended.map_err(|error| error.to_string())
    });
    tokio::select! {
        ended = jobs => ended??,
        () = redlock_runtime::shutdown_signal() => {}
    }
    println!("{}", redlock.shutdown().await);
    Ok(())
}
