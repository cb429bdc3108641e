//! Readers and writers on real servers.

mod cancellation;
mod exclusion;
mod fixture;
mod turns;
mod waiting;
