//! One leader in the whole fleet, and another one soon after it is gone.
//!
//! Every process waits for the lock, without end (`wait = "forever"`). Who has it leads, and keeps it
//! for as long as it lives (`max_hold = "unlimited"` renews it, each time that a third of its
//! validity has passed). The ttl is short: it is how long a leader that was killed, or that cannot
//! reach the nodes any more, stands in the way of the next one.
//!
//! With the nodes of `compose.yaml`:
//!
//! ```sh
//! docker compose up -d --wait
//! export REDLOCK_POOLS_A_URL=redis://127.0.0.1:7001
//! export REDLOCK_POOLS_B_URL=redis://127.0.0.1:7002
//! export REDLOCK_POOLS_C_URL=redis://127.0.0.1:7003
//! cargo build -p redlock-examples --example leader
//! for n in 1 2 3; do cargo run -q -p redlock-examples --example leader & done
//! ```
//!
//! Kill the leader (`kill -9` the pid that it names): another one leads within the ttl, five
//! seconds or `LEADER_TTL_MS`. Stop it by Ctrl-C or SIGTERM: another one leads at once. Freeze it
//! (`kill -STOP`) for longer than the ttl and let it go on: it notices before its next step.
//!
//! For a leader that must never, not for a moment, be one of two, use consensus (etcd, for one), or
//! give the lock `fencing = true` and send its token with everything that the leader does.

use std::error::Error;
use std::io;
use std::time::Duration;

use redlock_runtime::{Config, LeaseHandle, LockError, redlock};

const STEP: Duration = Duration::from_millis(50);

#[redlock(resource = "leader", ttl = ttl, wait = "forever", max_hold = "unlimited", guard = lease)]
async fn lead(ttl: Duration) -> Result<(), LockError> {
    println!("leading, pid {}", std::process::id());
    // The body is cancelled at its next await if the lock is lost. It ends by itself when the lock is
    // about to end: renewals fail, or the process was asked to end.
    let mut steps = 0_u64;
    while !is_expiring(lease).await {
        // One step of what only a leader does. Short: between two of them it may lose the lock.
        steps += 1;
    }
    println!("stepping down after {steps} steps");
    Ok(())
}

/// Waits for the next step. Whether there should be none.
async fn is_expiring(lease: &LeaseHandle) -> bool {
    tokio::select! {
        () = lease.expiring() => true,
        () = tokio::time::sleep(STEP) => false,
    }
}

/// Leads, or waits to lead, until the process ends.
async fn campaign(ttl: Duration) -> Result<(), LockError> {
    loop {
        match lead(ttl).await {
            Ok(()) => {}
            Err(error) if error.is_shutting_down() => return Ok(()),
            // Others may lead by now.
            Err(error) if error.is_lost() => println!("not leading any more: {error}"),
            Err(error) => return Err(error),
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().with_writer(io::stderr).init();
    let ttl = match std::env::var("LEADER_TTL_MS") {
        Ok(ms) => Duration::from_millis(ms.parse()?),
        Err(_) => Duration::from_secs(5),
    };
    let redlock = redlock_runtime::init(Config::load()?).await?;
    println!("ready");

    // Not dropped at the signal, so that the leader can step down in order.
    let campaign = tokio::spawn(campaign(ttl));
    tokio::select! {
        ended = campaign => ended??,
        () = redlock_runtime::shutdown_signal() => {}
    }
    println!("{}", redlock.shutdown().await);
    Ok(())
}
