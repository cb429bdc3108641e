//! Side-by-side benchmarks of distributed locks against real `redis-server` processes.
//!
//! ```text
//! cargo bench -p redlock-benches                        everything, in about eight minutes
//! cargo bench -p redlock-benches -- --short             the same in about two minutes
//! cargo bench -p redlock-benches --bench locks frozen   one group: `uncontended` or `frozen`
//! cargo bench -p redlock-benches wrapper                what the attribute costs above a lock by hand
//! cargo bench -p redlock-benches --bench renewal         ten thousand leases that renew themselves
//! REDLOCK_BENCH=short cargo bench -p redlock-benches    as `--short`
//! ```
//!
//! Absolute figures say more about the machine than about the library, and two runs an hour apart
//! cannot be compared. So all contenders take turns within one run, several rounds of it, and
//! each ratio is the median of the ratios *within* a round, with the smallest and the largest.
//!
//! A lock that is fast because it does not lock would win any benchmark: every run counts the
//! acquisitions and releases that failed, and looks afterwards for keys left on the nodes. Both
//! are in the table, and either makes the benchmark fail.
//!
//! `cargo test --all-targets` runs benchmarks too, without the `--bench` that `cargo bench`
//! passes; they then only show that they work, in a second or two.

// A benchmark reports what it cannot do by panicking: a `# Panics` section says nothing.
#![allow(clippy::missing_panics_doc)]

mod cases;
mod contender;
mod load;
mod plan;
mod report;
mod stats;
mod table;
mod ways;

pub use cases::{allocations, frozen, renewal, uncontended, wrapper, wrapper_allocations};
pub use contender::{Contender, Fleet, Kind, Ours, RedisLoop, Unlocked, Wait};
pub use load::{Load, Sample};
pub use plan::{Mode, Plan};
pub use report::Report;
pub use stats::{Spread, percentile};
pub use table::Table;
pub use ways::{Body, Grounds, Way};
