//! The cost of thousands of leases that renew themselves. See the library's docs.

use std::alloc::System;
use std::path::Path;
use std::process::ExitCode;

use redlock_benches::{Group, Suite, renewal};
use redlock_tests::{NodeOptions, Nodes, RedisNode};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    let mut suite = Suite::from_command_line(Path::new(env!("CARGO_TARGET_TMPDIR")));
    if suite.wants_any(&[Group::Renewal]) {
        let nodes: Nodes = (0..3)
            .map(|_| RedisNode::start_blocking(NodeOptions::default()))
            .collect();
        suite.measure(Group::Renewal, Some(&nodes), |plan, report| {
            renewal(plan, &nodes, &nodes.urls(), live, report);
        });
    }
    suite.end()
}

/// Bytes that are allocated right now.
fn live() -> usize {
    let stats = ALLOCATOR.stats();
    // What a reallocation adds or takes is in the other two already.
    stats
        .bytes_allocated
        .saturating_sub(stats.bytes_deallocated)
}
