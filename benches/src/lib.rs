//! Side-by-side benchmarks of distributed locks against real `redis-server` processes.
//!
//! ```text
//! cargo bench -p redlock-benches                       everything, in about twenty-four minutes
//! cargo bench -p redlock-benches -- --short            everything, in about four minutes
//! cargo bench -p redlock-benches -- hot-key            the groups whose name contains this
//! cargo bench -p redlock-benches --features peers -- peers   other systems, as far as they are installed
//! cargo bench -p redlock-benches --bench compile_time  what 300 annotated functions take to compile
//! cargo bench -p redlock-benches -- --results DIR      the results go there
//! cargo bench -p redlock-benches -- --tune             which retry delay serves rslock best
//! REDLOCK_BENCH=short cargo bench -p redlock-benches   as `--short`
//! ```
//!
//! Absolute figures say more about the machine than about the library, and two runs an hour apart cannot be compared.
//! So all contenders take turns within one run, ten rounds of it, in another order each time, and each ratio is the
//! median of the ratios *within* a round, with the smallest and the largest.
//!
//! A lock that is fast because it does not lock would win any benchmark: every run counts the
//! acquisitions and releases that failed, every holder of a contended key writes down when it held
//! it, and afterwards the nodes are searched for keys that were left. What should not be makes the
//! benchmark fail. A line that is missed does not: a busy machine is enough for that.
//!
//! A full run writes its results into `results/` and the tables into `RESULTS.md`, a short one into
//! the target directory. What is measured how is in `RESULTS.md`.
//!
//! `cargo test --workspace --all-targets` runs benchmarks too, without the `--bench` that `cargo bench`
//! passes; they then only show that they work, in a second or two each.

// A benchmark reports what it cannot do by panicking: a `# Panics` section says nothing.
#![allow(clippy::missing_panics_doc)]

mod affinity;
mod cases;
mod clock;
mod contended;
mod contender;
mod group;
mod load;
mod pair;
mod peers;
mod plan;
mod plot;
mod report;
mod stats;
mod table;
mod ways;

pub use cases::{
    compile_time, frozen, hand_over, hot_key, hot_key_processes, kinds, kinds_writer, peers,
    permits, renewal, shares, tuning, uncontended, wrapper,
};
pub use contended::work;
pub use contender::{Contender, Fleet, Held, Kind, Ours, RawLoop, RedisLoop, Unlocked, Wait};
pub use group::Group;
pub use load::{Load, Sample};
pub use pair::Pairing;
pub use peers::{Locks, Program, program, serve, serve_on_redis};
pub use plan::{Mode, Plan};
pub use report::{Report, Suite};
pub use stats::{Spread, median_interval, percentile};
pub use table::Table;
pub use ways::{Body, Grounds, Way};
