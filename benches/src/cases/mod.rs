//! What is measured.

mod allocations;
mod frozen;
mod uncontended;

pub use allocations::allocations;
pub use frozen::frozen;
pub use uncontended::uncontended;
