//! Allocations of lock and release, side by side with other implementations. See the library's
//! docs.

use std::alloc::System;
use std::path::Path;
use std::process::ExitCode;

use redlock_benches::{Group, Suite, allocations, wrapper_allocations};
use redlock_tests::{NodeOptions, Nodes, RedisNode};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    let mut suite = Suite::from_command_line(Path::new(env!("CARGO_TARGET_TMPDIR")));
    suite.measure(Group::WrapperAllocations, None, |_, report| {
        wrapper_allocations(counted, report);
    });
    if suite.wants_any(&[Group::Allocations]) {
        let nodes: Nodes = (0..3)
            .map(|_| RedisNode::start_blocking(NodeOptions::default()))
            .collect();
        suite.measure(Group::Allocations, Some(&nodes), |plan, report| {
            allocations(plan, &nodes, &nodes.urls(), counted, report);
        });
    }
    suite.end()
}

/// Allocations, those that grow included, and their bytes.
fn counted() -> (usize, usize) {
    let stats = ALLOCATOR.stats();
    let count = stats.allocations + stats.reallocations;
    (count, stats.bytes_allocated)
}
