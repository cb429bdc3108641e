//! Lock and release, compared with other clients of Redis, etcd, and `PostgreSQL`. See the library's docs.

mod etcd;
mod postgres;

use std::path::Path;
use std::process::ExitCode;

use redlock_benches::{Group, Suite, peers, program, serve, serve_on_redis};
use redlock_tests::{NodeOptions, Nodes, RedisNode};
use tokio::runtime::Builder;

fn main() -> ExitCode {
    if work() {
        return ExitCode::SUCCESS;
    }
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let mut suite = Suite::from_command_line(scratch);
    if !suite.wants_any(&[Group::Peers]) {
        return ExitCode::SUCCESS;
    }
    let nodes: Nodes = (0..3)
        .map(|_| RedisNode::start_blocking(NodeOptions::default()))
        .collect();
    let neighbours = scratch.with_file_name("neighbours");
    suite.measure(Group::Peers, Some(&nodes), |plan, report| {
        peers(plan, &nodes, neighbours, report);
    });
    suite.end()
}

/// Measures one system, if the command line says so. Returns whether it did.
fn work() -> bool {
    let Some(program) = program() else {
        return false;
    };
    let runtime = Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.expect("a tokio runtime");
    if serve_on_redis(&runtime, &program).is_none() {
        match &*program.system {
            "etcd" => serve(
                &runtime,
                runtime.block_on(etcd::Etcd::connect(&program.urls)),
            ),
            "PostgreSQL" => serve(
                &runtime,
                runtime.block_on(postgres::Postgres::connect(&program.urls[0])),
            ),
            other => panic!("{other}"),
        }
    }
    true
}
