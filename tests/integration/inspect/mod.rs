//! What is held, and how the nodes are doing, as a registry says it and as it is served.

mod contention;
mod elections;
mod fixture;
mod kinds;
mod overview;
mod served;
