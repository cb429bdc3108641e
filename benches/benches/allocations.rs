//! Allocations of lock and release, side by side with other implementations. See the library's
//! docs.

use std::alloc::System;
use std::path::Path;

use redlock_benches::{Plan, Report, allocations, wrapper_allocations};
use redlock_tests::{NodeOptions, Nodes, RedisNode};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() {
    let plan = Plan::from_command_line();
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR"));
    if plan.wants("wrapper allocations") {
        let mut report = Report::begin_in_process(&plan);
        wrapper_allocations(counted, &mut report);
        report.finish("wrapper-allocations", directory);
    }
    if !plan.wants("allocations") {
        return;
    }
    let nodes: Nodes = (0..3)
        .map(|_| RedisNode::start_blocking(NodeOptions::default()))
        .collect();
    let mut report = Report::begin(&plan, &nodes);
    allocations(&plan, &nodes, &nodes.urls(), counted, &mut report);
    report.finish("allocations", directory);
}

/// Allocations, those that grow included, and their bytes.
fn counted() -> (usize, usize) {
    let stats = ALLOCATOR.stats();
    let count = stats.allocations + stats.reallocations;
    (count, stats.bytes_allocated)
}
