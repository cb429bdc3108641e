//! The speed of lock and release without contention, compared with other implementations. See the library's docs.

use std::path::Path;
use std::process::ExitCode;

use redlock_benches::{Group, Suite, frozen, uncontended};
use redlock_tests::{NodeOptions, Nodes, RedisNode};

fn main() -> ExitCode {
    let mut suite = Suite::from_command_line(Path::new(env!("CARGO_TARGET_TMPDIR")));
    if !suite.wants_any(&[Group::Uncontended, Group::Frozen]) {
        return ExitCode::SUCCESS;
    }
    let nodes: Nodes = (0..5)
        .map(|_| RedisNode::start_blocking(NodeOptions::default()))
        .collect();
    suite.measure(Group::Uncontended, Some(&nodes), |plan, report| {
        uncontended(plan, &nodes, &nodes.urls()[..3], report);
    });
    suite.measure(Group::Frozen, Some(&nodes), |plan, report| {
        frozen(plan, &nodes, report);
    });
    suite.end()
}
