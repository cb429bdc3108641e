//! Memory and processor time of thousands of leases that renew themselves. See the library's docs.

use std::alloc::System;
use std::process::ExitCode;

use redlock_benches::{Suite, renewal};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn main() -> ExitCode {
    let mut suite = Suite::from_command_line(env!("CARGO_TARGET_TMPDIR"));
    suite.measure("renewal", 3, |plan, nodes, report| {
        renewal(plan, nodes, live, report);
    });
    suite.end()
}

/// Returns the bytes that are allocated right now.
fn live() -> usize {
    let stats = ALLOCATOR.stats();
    // The other two include reallocations.
    stats
        .bytes_allocated
        .saturating_sub(stats.bytes_deallocated)
}
