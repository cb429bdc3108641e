//! One leader in the whole fleet, and soon another one if it ends.
//!
//! ```sh
//! docker compose up -d --wait && cd examples
//! for n in 1 2 3; do cargo run -q --example leader & done
//! ```
//!
//! Stop the leader by Ctrl-C or SIGTERM: another one leads at once. Kill it (`kill -9` and its pid): another one leads
//! within the ttl.
//!
//! A leader that was frozen may write once more next to its successor. So each write carries the term's fencing token,
//! and the store refuses a lower one than it has seen.

use std::error::Error;
use std::time::Duration;

use redlock_runtime::election::{LeaderWatch, Term};
use redlock_runtime::{Config, election};

/// Leads for one term. The body is cut off at its next await if the office is lost.
async fn lead(term: Term) {
    println!("leading, fencing token {}", term.fencing_token());
    // False once the term is about to end. Then renewals fail, or the process was asked to end.
    while term.proceed().await {
        // Keep a step short, because the office may be lost between two of them.
        index_next(term.fencing_token().as_i64()).await;
    }
    println!("stepping down");
}

/// Does one step. The store compares the token: `UPDATE progress SET … , fence = $1 WHERE fence <= $1`.
async fn index_next(_fence: i64) {
    tokio::time::sleep(Duration::from_millis(100)).await;
}

/// Shows who leads, as of a moment ago. Redirects and dashboards may rely on it, but no write.
async fn follow(mut watch: LeaderWatch) {
    while watch.changed().await {
        let leader = watch.status().leader.and_then(|leader| leader.value);
        println!("seen: {} leads", leader.as_deref().unwrap_or("nobody"));
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .init();
    let redlock = redlock_runtime::init(Config::load()?).await?;

    let election = election("reindex")
        .name("reindex")
        .ttl(Duration::from_secs(5))
        .value(format!("pid {}", std::process::id())); // in a service: its address
    tokio::spawn(follow(election.watch()?));
    println!("standing, pid {}", std::process::id());

    // Stands again after each lost office. At SIGTERM or Ctrl-C the leader has the grace period to step down.
    let (led, report) = redlock.shutdown_after(election.run(lead)).await;
    println!("{report}");
    // `None`: the leader was still at work at the deadline.
    Ok(led.unwrap_or(Ok(()))?)
}
