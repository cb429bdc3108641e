//! Core's algorithm, unchanged, in a simulated world: virtual time, seeded randomness, a network
//! that delays, loses and reorders, nodes that hang, die and forget, clients that stand still, and
//! clocks that run apart. A checker looks at everything that happens. One number, the seed, decides
//! everything, so a seed that fails can be run again, with a trace.
//!
//! # Example: one run
//! ```
//! let report = redlock_simulation::run(7, None, false);
//! assert!(report.violations.is_empty());
//! ```
#![doc = include_str!("simulation.md")]

mod check;
mod faults;
mod leftover;
mod operation;
mod vetting;
mod wire;

pub mod client;
pub mod clock;
pub mod coverage;
pub mod history;
pub mod link;
pub mod network;
pub mod profile;
pub mod random;
pub mod run;
pub mod server;
pub mod world;

pub use coverage::Coverage;
pub use history::{Invariant, Violation};
pub use profile::Profile;
pub use run::{Report, run};
