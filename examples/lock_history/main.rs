//! How the lock on a Redis server came to be what it is: each generation goes through the same faults,
//! and a table says what became of it, as it was measured in this run.
//!
//! ```sh
//! cargo run -p redlock-examples --example lock_history
//! ```
//!
//! starts `redis-server` processes of its own (from the PATH, or `REDIS_SERVER`), and ends them. It
//! takes about half a minute. It exits with 0 if everything could be measured, whatever came out.
//!
//! * `generations/` has one implementation a file, as short as it was in its time.
//! * `faults/` has one fault a function. Nothing in it says what is to come out.
//! * `call.rs` runs an implementation in a process of its own, which `report.rs` lets talk to
//!   `caller.rs`; `servers.rs` starts and loses servers.
//! * `table.rs` prints.

#[cfg(unix)]
mod call;
#[cfg(unix)]
mod caller;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod generations;
#[cfg(unix)]
mod report;
#[cfg(unix)]
mod scene;
#[cfg(unix)]
mod servers;
#[cfg(unix)]
mod shared;
#[cfg(unix)]
mod table;

use std::process::ExitCode;

/// On one thread: children are tied to the life of the *thread* that starts them.
#[cfg(unix)]
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let outcome = match arguments.next().as_deref() {
        None => table::main().await,
        // The program starts itself as these two.
        Some(call::COMMAND) => call::main(arguments).await,
        Some(shared::tied::TIED_COMMAND) => Err(shared::tied::become_tied(arguments).into()),
        Some(other) => Err(format!("`{other}`: this example takes no arguments").into()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("lock_history: {error}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(unix))]
fn main() -> ExitCode {
    eprintln!("lock_history: this example kills processes by signals, and so needs a Unix");
    ExitCode::FAILURE
}
