//! The cost of each kind of lock, compared with a plain lock. See the library's docs.

use std::path::Path;
use std::process::ExitCode;

use redlock_benches::{Group, Suite, kinds, kinds_writer, work};
use redlock_tests::{NodeOptions, Nodes, RedisNode};

fn main() -> ExitCode {
    if work() {
        return ExitCode::SUCCESS;
    }
    let mut suite = Suite::from_command_line(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let groups = [Group::Kinds, Group::KindsWriter];
    if !suite.wants_any(&groups) {
        return ExitCode::SUCCESS;
    }
    let nodes: Nodes = (0..3)
        .map(|_| RedisNode::start_blocking(NodeOptions::default()))
        .collect();
    for (group, measure) in groups.into_iter().zip([kinds, kinds_writer]) {
        suite.measure(group, Some(&nodes), |plan, report| {
            measure(plan, &nodes, report);
        });
    }
    suite.end()
}
