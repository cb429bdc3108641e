//! What thousands of leases cost that renew themselves. See the library's docs.

use std::alloc::System;
use std::path::Path;

use redlock_benches::{Plan, Report, renewal};
use redlock_tests::{NodeOptions, Nodes, RedisNode};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    let plan = Plan::from_command_line();
    if !plan.wants("renewal") {
        return;
    }
    let nodes: Nodes = (0..3)
        .map(|_| RedisNode::start_blocking(NodeOptions::default()))
        .collect();
    let mut report = Report::begin(&plan, &nodes);
    renewal(&plan, &nodes, &nodes.urls(), live, &mut report);
    report.finish("renewal", Path::new(env!("CARGO_TARGET_TMPDIR")));
}

/// Bytes that are allocated right now.
fn live() -> usize {
    let stats = ALLOCATOR.stats();
    // What a reallocation adds or takes is in the other two already.
    stats
        .bytes_allocated
        .saturating_sub(stats.bytes_deallocated)
}
