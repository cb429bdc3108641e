//! Keys for which many callers compete, in one process and in several, compared with other
//! implementations. See the library's docs.

use std::path::Path;
use std::process::ExitCode;

use redlock_benches::{
    Group, Suite, hand_over, hot_key, hot_key_processes, permits, shares, tuning, work,
};
use redlock_tests::{NodeOptions, Nodes, RedisNode};

fn main() -> ExitCode {
    if work() {
        return ExitCode::SUCCESS;
    }
    let mut suite = Suite::from_command_line(Path::new(env!("CARGO_TARGET_TMPDIR")));
    let groups = [
        Group::HotKey,
        Group::HotKeyProcesses,
        Group::HandOver,
        Group::Shares,
        Group::Permits,
        Group::Tuning,
    ];
    if !suite.wants_any(&groups) {
        return ExitCode::SUCCESS;
    }
    let nodes: Nodes = (0..3)
        .map(|_| RedisNode::start_blocking(NodeOptions::default()))
        .collect();
    let urls = nodes.urls();
    for (group, measure) in groups.into_iter().zip([
        hot_key,
        hot_key_processes,
        hand_over,
        shares,
        permits,
        tuning,
    ]) {
        suite.measure(group, Some(&nodes), |plan, report| {
            measure(plan, &nodes, &urls, report);
        });
    }
    suite.end()
}
