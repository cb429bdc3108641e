//! Side-by-side benchmarks of distributed locks against real `redis-server` processes.
//!
//! `README.md` has the commands, and `RESULTS.md` the method and the figures.
//!
//! Absolute figures say more about the machine than about the library, and two runs an hour apart
//! cannot be compared. So all contenders take turns within one run, ten rounds of it, in another
//! order each time, and each ratio is the median of the ratios *within* a round.
//!
//! A lock that is fast because it does not lock would win any benchmark: every run counts the
//! acquisitions and releases that failed, every holder of a contended key writes down when it held
//! it, and afterwards the nodes are searched for keys that were left. Any of these makes the
//! benchmark fail.
//!
//! A group prints its figures and writes one CSV row a round. The script `tables` makes the tables and charts of
//! `RESULTS.md` from these files.
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
mod load;
mod pair;
mod plan;
mod report;
mod stats;
mod suite;
mod table;
mod ways;

pub use cases::{
    compile_time, fenced, fenced_hot, frozen, hand_over, hot_key, hot_key_processes, kinds,
    kinds_writer, permits, renewal, shares, tuning, uncontended, wrapper,
};
pub use clock::{Moment, now};
pub use contended::{Figures, Hold, Lock, Log, Turn, Window, keep, work};
pub use contender::{Kind, Ours, in_turn};
pub use load::{PREFIX, keys_left};
pub use pair::Pairing;
pub use plan::{Mode, Plan};
pub use report::{Named, Report};
pub use stats::{micros, millis, whole};
pub use suite::Suite;
pub use table::Table;
