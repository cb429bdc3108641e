//! Why a store should check a lock's fencing token: a holder is frozen past its ttl, wakes up and
//! writes, once to a store that takes every write, and once to a store that checks the token.
//!
//! ```sh
//! cargo run -p redlock-examples --example fenced_store --features sqlite
//! ```
//!
//! takes the pools that `redlock.toml` or the `REDLOCK_*` variables configure. Where they configure
//! none, it starts three `redis-server` processes of its own (from the PATH, or `REDIS_SERVER`) and
//! ends them when it is done. It locks `account:7` for some seconds; `REDLOCK_KEY_PREFIX=example:`
//! keeps that apart from what else is on the nodes. It exits with 0 if everything happened as it
//! says.
//!
//! * `bank.rs` is what an application would write: two annotated functions.
//! * `store.rs` is the store with its one rule, in `SQLite`.
//! * `holder.rs` runs either function in a process of its own, which `report.rs` lets talk to its
//!   parent.
//! * `process.rs` starts and freezes such processes, `nodes.rs` the servers, both with what is in
//!   `../shared/`.
//! * `story.rs` plays the scene twice and says what happened.

#[cfg(unix)]
mod bank;
#[cfg(unix)]
mod holder;
#[cfg(unix)]
mod nodes;
#[cfg(unix)]
mod process;
#[cfg(unix)]
mod report;
#[cfg(unix)]
#[path = "../shared/mod.rs"]
mod shared;
#[cfg(unix)]
mod store;
#[cfg(unix)]
mod story;

use std::process::ExitCode;

/// On one thread: children are tied to the life of the *thread* that starts them.
#[cfg(unix)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let outcome = match arguments.next().as_deref() {
        None => story::main().await,
        // The program starts itself as these two.
        Some(holder::COMMAND) => holder::main(arguments).await,
        Some(shared::tied::TIED_COMMAND) => Err(shared::tied::become_tied(arguments).into()),
        Some(other) => Err(format!("`{other}`: this example takes no arguments").into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fenced_store: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("fenced_store: this example freezes a process with SIGSTOP, and so needs a Unix");
    ExitCode::FAILURE
}
