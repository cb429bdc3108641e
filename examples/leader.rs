//! One leader in the whole fleet, and another one soon after it is gone.
//!
//! Every process stands for the office `leader`. Who is elected leads for as long as it lives: the lease
//! is renewed each time that a third of its validity has passed. The ttl is short: it is how long a leader
//! that was killed, or that cannot reach the nodes any more, stands in the way of the next one. Every
//! process also prints which process it sees leading.
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
//! An election does not promise that there is never more than one leader. For that, send the term's
//! fencing token with everything that the leader does, or use consensus (etcd, for one).

use std::error::Error;
use std::io;
use std::time::Duration;

use redlock_runtime::election::{LeaderWatch, Term};
use redlock_runtime::{Config, election};

const STEP: Duration = Duration::from_millis(50);

/// One term. The body is cut off at its next await if the office is lost. It ends by itself when it is
/// asked to: renewals fail, or the process was asked to end.
async fn lead(term: Term) {
    let mut work = Work::begin(&term);
    while term.proceed().await {
        // One step of what only a leader does. Short: between two of them it may lose the office.
        tokio::time::sleep(STEP).await;
        work.steps += 1;
    }
    work.is_put_down = true;
}

/// The work of a term, which says how it ended.
struct Work {
    steps: u64,
    is_put_down: bool,
}

impl Work {
    fn begin(term: &Term) -> Self {
        let (pid, token) = (std::process::id(), term.fencing_token());
        println!("leading, pid {pid}, fencing token {token}");
        Self {
            steps: 0,
            is_put_down: false,
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.is_put_down {
            println!("stepping down after {} steps", self.steps);
        } else {
            println!("not leading any more: cut off after {} steps", self.steps);
        }
    }
}

/// Tells who leads, as of a moment ago, until the process ends.
async fn tell(mut watch: LeaderWatch) {
    while watch.changed().await {
        let leader = watch.status().leader;
        let owner = leader.map(|leader| leader.owner.unwrap_or("another client".to_owned()));
        println!("seen: {} leads", owner.as_deref().unwrap_or("nobody"));
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
    let election = election("leader").name("leader").ttl(ttl);
    tokio::spawn(tell(election.watch()?));
    println!("ready");

    // Not dropped at the signal, so that the leader can step down in order.
    let standing = tokio::spawn(async move { election.run(lead).await });
    tokio::select! {
        ended = standing => ended??,
        () = redlock_runtime::shutdown_signal() => {}
    }
    println!("{}", redlock.shutdown().await);
    Ok(())
}
