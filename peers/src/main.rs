//! Measures lock and release beside other systems: other clients of Redis, etcd, and `PostgreSQL`.
//!
//! Each client is a program of its own, which obeys `measure` of `redlock-interop-tests`. The programs of the clients
//! written in Rust are this one, started again with a hidden argument.

mod cases;
mod client;
mod etcd_client;
mod etcd_servers;
mod postgres_client;
mod postgres_server;
mod servers;

use std::process::ExitCode;

fn main() -> ExitCode {
    if client::work() {
        return ExitCode::SUCCESS;
    }
    let mut suite =
        redlock_benches::Suite::from_command_line(concat!(env!("CARGO_MANIFEST_DIR"), "/target"));
    suite.measure("peers", 3, cases::peers);
    suite.end()
}
