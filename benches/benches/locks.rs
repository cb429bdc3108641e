//! Speed of lock and release, side by side with other implementations. See the library's docs.

use std::path::Path;

use redlock_benches::{Plan, Report, frozen, uncontended};
use redlock_tests::{NodeOptions, Nodes, RedisNode};

fn main() {
    let plan = Plan::from_command_line();
    let nodes: Nodes = (0..5)
        .map(|_| RedisNode::start_blocking(NodeOptions::default()))
        .collect();
    let mut report = Report::begin(&plan, &nodes);
    if plan.wants("uncontended") {
        uncontended(&plan, &nodes, &nodes.urls()[..3], &mut report);
    }
    if plan.wants("frozen") {
        frozen(&plan, &nodes, &mut report);
    }
    report.finish("locks", Path::new(env!("CARGO_TARGET_TMPDIR")));
}
